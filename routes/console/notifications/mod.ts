import { inEveryLanguage } from "../shared/languages.ts";
import { type ConsolePage, type ConsoleSection, navItem } from "../shared/page.ts";
import { looksPages } from "./looks.tsx";
import { senderPages } from "./senders.tsx";
import { looksTexts, notificationTexts, suppressionTexts } from "./texts.ts";
import { messagePages } from "./detail.tsx";
import { listPage, messageActions } from "./list.tsx";
import { sendPages, userSearchPage } from "./send.tsx";
import { preferencesPage } from "./preferences.tsx";
import { suppressionPages } from "./suppressions.tsx";
import { editorPages } from "./editor.tsx";
import { templatesPage } from "./templates.tsx";
import { templateTexts } from "./template_texts.ts";
import { versionPages } from "./versions.tsx";

const permissions = ["send:notifications"];
const readsSenders = ["send:notifications", "manage:settings"];
const forSenders = (pages: ConsolePage[]): ConsolePage[] => pages.map((page) => ({ ...page, permissions }));

/** Messages, message templates, suppressed addresses and the viewer's notification preferences. */
export const notificationsSection: ConsoleSection = {
  area: "notifications",
  title: inEveryLanguage(notificationTexts, "section"),
  nav: [
    navItem(notificationTexts, "title", { path: "notifications", icon: "notifications" }),
    navItem(templateTexts, "title", { path: "templates", icon: "templates" }),
    navItem(suppressionTexts, "title", { path: "suppressions", icon: "blocked" }),
    navItem(looksTexts, "senders", { path: "senders", icon: "link", needsTenant: true }),
    // Every user of the tenant may read its looks.
    navItem(looksTexts, "title", {
      path: "looks",
      icon: "settings",
      permissions: ["manage:settings"],
      needsTenant: true,
    }),
  ],
  pages: [
    ...forSenders([
      { path: "notifications", get: listPage, bulk: messageActions },
      ...sendPages,
      { path: "notifications/people", get: userSearchPage },
      ...messagePages,
      { path: "templates", get: templatesPage },
      ...editorPages,
      ...versionPages,
      ...suppressionPages,
    ]),
    ...senderPages.map((page) => ({ permissions: readsSenders, ...page })),
    ...looksPages,
    preferencesPage,
  ],
};
