import type { ConsoleSection } from "../shared/page.ts";
import { overviewPage } from "./overview.tsx";
import { words } from "./words.ts";

/** How the service fares, at a glance. */
export const overviewSection: ConsoleSection = {
  nav: [{ path: "", label: { en: words.en.title, pt: words.pt.title }, icon: "overview" }],
  pages: [{ path: "", get: overviewPage }],
};
