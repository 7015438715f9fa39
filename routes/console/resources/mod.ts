import { inEveryLanguage } from "../shared/languages.ts";
import type { ConsoleSection } from "../shared/page.ts";
import { applicationPages } from "./applications.tsx";
import { settingPages } from "./settings.tsx";
import { resourceTexts } from "./texts.ts";

const applications = inEveryLanguage(resourceTexts, "applications");
const settings = inEveryLanguage(resourceTexts, "settings");

/** Applications and settings. All users of the tenant can read them; changing them needs a permission. */
export const resourcesSection: ConsoleSection = {
  title: inEveryLanguage(resourceTexts, "section"),
  nav: [
    { path: "applications", label: applications, icon: "files", needsTenant: true },
    { path: "settings", label: settings, icon: "settings", needsTenant: true },
  ],
  pages: [...applicationPages, ...settingPages],
};
