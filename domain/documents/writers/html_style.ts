import { readableShade } from "../../looks/colours.ts";
import type { Looks } from "../../looks/looks.ts";
import { paletteOf } from "../charts/palette.ts";

/** The colours of a page; `soft` and `ink` are readable on `page` and `stripe`. */
interface PageColours {
  page: string;
  ink: string;
  soft: string;
  grid: string;
  stripe: string;
  group: string;
}

const LIGHT: PageColours = {
  page: "#ffffff",
  ink: "#1a2230",
  soft: "#4a5568",
  grid: "#d9dee7",
  stripe: "#f4f6f9",
  group: "#e9edf3",
};
const DARK: PageColours = {
  page: "#12161d",
  ink: "#e6eaf0",
  soft: "#a9b3c1",
  grid: "#333c49",
  stripe: "#191f28",
  group: "#232b36",
};

function variables(colours: PageColours, { primaryColour, textColour }: Looks): string {
  const own = {
    ...colours,
    accent: readableShade(primaryColour, colours.page),
    head: primaryColour,
    "head-text": textColour,
  };
  const palette = paletteOf(primaryColour, colours.page).map((colour, i) => `--c${i}: ${colour};`);
  return Object.entries(own).map(([name, colour]) => `--${name}: ${colour};`).join(" ") + " " +
    palette.join(" ");
}

/**
 * The style of a document. On screen it is light or dark as the reader prefers; on paper it is light.
 * @param paper size and orientation, such as `A4 landscape`
 */
export const styleOf = (looks: Looks, paper: string): string => `
:root { color-scheme: light; font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  color: var(--ink); ${variables(LIGHT, looks)} }
@media screen and (prefers-color-scheme: dark) { :root { color-scheme: dark; ${variables(DARK, looks)} } }
body { margin: 2rem auto; max-width: 96rem; padding: 0 1.5rem; background: var(--page); }
.brand { margin: 0 0 1rem; color: var(--soft); } .brand img { display: block; width: auto; height: auto; max-height: 3.5rem; max-width: 18rem; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; color: var(--accent); } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.lead { margin: 0 0 1rem; color: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0 0 1.5rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.rows { overflow-x: auto; } .rows:focus-visible { outline: 2px solid var(--accent); }
table { border-collapse: collapse; width: 100%; }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
th, td { padding: .35rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--grid); }
thead th { background: var(--head); color: var(--head-text); position: sticky; top: 0; min-width: calc(var(--w, 0) * .85ch); }
tr.odd { background: var(--stripe); }
td { overflow-wrap: anywhere; white-space: pre-line; } td.t { white-space: nowrap; }
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
tr.group th { background: var(--group); } tr.group.l2 th { padding-left: 1.8rem; } tr.group.l3 th { padding-left: 3rem; }
tr.sum.l2 > th:first-child { padding-left: 1.8rem; } tr.sum.l3 > th:first-child { padding-left: 3rem; }
tr.sum > * { font-weight: 600; border-top: 1px solid var(--soft); }
tfoot { display: table-row-group; } tfoot tr.sum > * { border-top: 2px solid var(--ink); }
figure { margin: 0; } svg { max-width: 100%; height: auto; } .empty, footer { color: var(--soft); }
footer { margin: 2rem 0 0; padding-top: .75rem; border-top: 1px solid var(--grid); white-space: pre-line; }
${paints()}
@media print {
  @page { size: ${paper}; margin: 12mm; }
  :root { font-size: 9px; } body { margin: 0; max-width: none; padding: 0; } .rows { overflow: visible; }
  thead { display: table-header-group; } thead th { position: static; min-width: calc(var(--w, 0) * .5ch); }
  thead th, tr.odd, tr.group th, svg { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  tr, figure { break-inside: avoid; } h2, tr.group { break-after: avoid; } svg { max-width: 150mm; }
}`;

/** The classes of the paints of a drawing: `f` fills, `s` strokes. */
function paints(): string {
  const numbers = Array.from({ length: 8 }, (_, i) => [`${i}`, `--c${i}`]);
  const names = [["-ink", "--ink"], ["-soft", "--soft"], ["-grid", "--grid"], ["-paper", "--page"]];
  return [...numbers, ...names]
    .map(([name, value]) =>
      `.f${name} { fill: var(${value}); } .s${name} { stroke: var(${value}); fill: none; }`
    )
    .join(" ");
}
