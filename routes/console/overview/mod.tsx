import type { ConsoleSection } from "../shared/page.ts";
import { overviewPage } from "./overview.tsx";
import { overviewTexts } from "./texts.ts";

/** The overview of the service's state. */
export const overviewSection: ConsoleSection = {
  nav: [{ path: "", label: { en: overviewTexts.en.title, pt: overviewTexts.pt.title }, icon: "overview" }],
  pages: [{ path: "", get: overviewPage }],
};
