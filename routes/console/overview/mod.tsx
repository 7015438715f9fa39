import { Card } from "../components/notice.tsx";
import { defineWords } from "../shared/words.ts";
import type { ConsoleSection } from "../shared/page.ts";

const words = defineWords({ title: "Overview" }, { title: "Visão geral" });

/** How the service fares, at a glance. */
export const overviewSection: ConsoleSection = {
  nav: [{ path: "", label: { en: words.en.title, pt: words.pt.title }, icon: "overview" }],
  pages: [{ path: "", get: (v) => ({ title: words[v.locale].title, body: <Card>…</Card> }) }],
};
