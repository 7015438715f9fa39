import { inEveryLanguage } from "../shared/languages.ts";
import { type ConsoleSection, navItem } from "../shared/page.ts";
import { applicationPages } from "./applications.tsx";
import { settingPages } from "./settings.tsx";
import { resourceTexts } from "./texts.ts";

/** Applications and settings. All users of the tenant can read them; changing them needs a permission. */
export const resourcesSection: ConsoleSection = {
  title: inEveryLanguage(resourceTexts, "section"),
  nav: [
    navItem(resourceTexts, "applications", { path: "applications", icon: "files", needsTenant: true }),
    navItem(resourceTexts, "settings", { path: "settings", icon: "settings", needsTenant: true }),
  ],
  pages: [...applicationPages, ...settingPages],
};
