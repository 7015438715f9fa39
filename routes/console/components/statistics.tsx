import type { Child } from "hono/jsx";
import type { Visit } from "../shared/page.ts";
import type { Tone } from "./notice.tsx";
import { number } from "./values.tsx";

/** A row of statistics. */
export const StatisticRow = ({ label, children }: { label?: string; children?: Child }) => (
  <div class="statistics" role={label ? "group" : undefined} aria-label={label}>{children}</div>
);

/** A row of numbers with their labels; see `StatisticRow`. */
export const statisticList = (
  v: Visit,
  statistics: [label: string, value: number, more?: { href?: string; tone?: Tone; hint?: Child }][],
) => (
  <StatisticRow>
    {statistics.map(([label, value, more]) => <Statistic label={label} value={number(v, value)} {...more} />)}
  </StatisticRow>
);

/** A number with its label. `href` links to the list that it counts. */
export function Statistic({ label, value, tone, href, hint }: {
  label: string;
  value: Child;
  tone?: Tone;
  href?: string;
  hint?: Child;
}) {
  const inside = [
    <span class="statistic-label">{label}</span>,
    <span class={`statistic-value${tone ? ` tone-${tone}` : ""}`}>{value}</span>,
    hint && <span class="statistic-hint muted">{hint}</span>,
  ];
  return href ? <a class="statistic" href={href}>{inside}</a> : <div class="statistic">{inside}</div>;
}

/** The number of what waits on the page of an entry, with the list that it counts; its place if there is nothing. */
export function navCount(v: Visit, path: string, waiting?: { count: number; href: string; text: string }) {
  const id = `waiting-${path}`;
  if (!waiting) return <span id={id} hx-swap-oob="true" hidden></span>;
  const { count, href, text } = waiting;
  return (
    <a id={id} hx-swap-oob="true" class="waiting" href={href} title={text} aria-label={text}>
      {number(v, count)}
    </a>
  );
}
