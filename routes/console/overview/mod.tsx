import { inEveryLanguage } from "../shared/languages.ts";
import type { ConsoleSection } from "../shared/page.ts";
import { overviewPage } from "./overview.tsx";
import { overviewTexts } from "./texts.ts";

/** The overview of the service's state. */
export const overviewSection: ConsoleSection = {
  nav: [{ path: "", label: inEveryLanguage(overviewTexts, "title"), icon: "overview" }],
  pages: [{ path: "", get: overviewPage }],
};
