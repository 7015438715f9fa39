import { type ConsoleSection, navItem } from "../shared/page.ts";
import { overviewPage } from "./overview.tsx";
import { overviewTexts } from "./texts.ts";

/** The overview of the service's state. */
export const overviewSection: ConsoleSection = {
  nav: [navItem(overviewTexts, "title", { path: "", icon: "overview" })],
  pages: [{ path: "", get: overviewPage }],
};
