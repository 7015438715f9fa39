import type { Child } from "hono/jsx";
import type { Visit } from "../shared/page.ts";
import type { Area } from "../shared/scope.ts";
import type { Tone } from "./notice.tsx";
import { ScopeChip } from "./scope.tsx";
import { number } from "./values.tsx";

/**
 * A row of figures that says whose they are.
 * @param of the area of the figures; null: the card around them says it, or they count no stored data
 */
export function FigureRow({ v, of, label, children }: {
  v: Visit;
  of: Area | null;
  label?: string;
  children?: Child;
}) {
  return (
    <div class="figure-group" role={label ? "group" : undefined} aria-label={label}>
      {of && <ScopeChip v={v} of={of} />}
      <div class="figures">{children}</div>
    </div>
  );
}

/** A row of numbers with their labels; see `FigureRow`. */
export const Figures = ({ v, of, figures }: {
  v: Visit;
  of: Area | null;
  figures: [label: string, value: number, more?: { href?: string; tone?: Tone; hint?: Child }][];
}) => (
  <FigureRow v={v} of={of}>
    {figures.map(([label, value, more]) => <Figure label={label} value={number(v, value)} {...more} />)}
  </FigureRow>
);

/** A number with its label. `href` links to the list that it counts. */
export function Figure({ label, value, tone, href, hint }: {
  label: string;
  value: Child;
  tone?: Tone;
  href?: string;
  hint?: Child;
}) {
  const inside = (
    <>
      <span class="figure-label">{label}</span>
      <span class={`figure-value${tone ? ` tone-${tone}` : ""}`}>{value}</span>
      {hint && <span class="figure-hint muted">{hint}</span>}
    </>
  );
  return href ? <a class="figure" href={href}>{inside}</a> : <div class="figure">{inside}</div>;
}
