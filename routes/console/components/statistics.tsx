import type { Child } from "hono/jsx";
import type { Visit } from "../shared/page.ts";
import type { Area } from "../shared/scope.ts";
import type { Tone } from "./notice.tsx";
import { ScopeChip } from "./scope.tsx";
import { number } from "./values.tsx";

/**
 * A row of statistics with the scope of the counted data.
 * @param of the area of the statistics; null if the card around them shows the scope, or they count no stored data
 */
export function StatisticRow({ v, of, label, children }: {
  v: Visit;
  of: Area | null;
  label?: string;
  children?: Child;
}) {
  return (
    <div class="statistic-group" role={label ? "group" : undefined} aria-label={label}>
      {of && <ScopeChip v={v} of={of} />}
      <div class="statistics">{children}</div>
    </div>
  );
}

/** A row of numbers with their labels; see `StatisticRow`. */
export const statisticList = (
  v: Visit,
  of: Area | null,
  statistics: [label: string, value: number, more?: { href?: string; tone?: Tone; hint?: Child }][],
) => (
  <StatisticRow v={v} of={of}>
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
  const inside = (
    <>
      <span class="statistic-label">{label}</span>
      <span class={`statistic-value${tone ? ` tone-${tone}` : ""}`}>{value}</span>
      {hint && <span class="statistic-hint muted">{hint}</span>}
    </>
  );
  return href ? <a class="statistic" href={href}>{inside}</a> : <div class="statistic">{inside}</div>;
}
