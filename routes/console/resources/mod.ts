import type { ConsoleSection } from "../shared/page.ts";
import { applicationPages } from "./applications.tsx";
import { settingPages } from "./settings.tsx";
import { resourceTexts } from "./texts.ts";

const { en, pt } = resourceTexts;
const applications = { en: en.applications, pt: pt.applications };
const settings = { en: en.settings, pt: pt.settings };

/** Applications and settings. All users of the tenant can read them; changing them needs a permission. */
export const resourcesSection: ConsoleSection = {
  title: { en: en.section, pt: pt.section },
  nav: [
    { path: "applications", label: applications, icon: "files", needsTenant: true },
    { path: "settings", label: settings, icon: "settings", needsTenant: true },
  ],
  pages: [...applicationPages, ...settingPages],
};
