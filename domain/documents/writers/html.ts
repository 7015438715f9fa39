import { Buffer } from "node:buffer";
import { escapeUTF8 } from "entities/escape";
import { readableShade } from "../../looks/colours.ts";
import type { Looks } from "../../looks/looks.ts";
import { type Column, type ColumnType, isNumeric, isoInstant } from "../columns.ts";
import { describeChart, drawChart, hasValues } from "../charts/draw.ts";
import { approximateWidth, type Paint, type PathStep, type Point, type Shape } from "../charts/drawing.ts";
import { paletteOf } from "../charts/palette.ts";
import type {
  ChartData,
  DocumentTable,
  GroupLine,
  ReportDocument,
  ReportWriter,
  RowLine,
  TableLine,
  TotalLine,
} from "../document.ts";
import type { Wording } from "../wording.ts";
import { layOutTable } from "./pdf/layout.ts";

/** The frame of a chart. */
const FRAME = { width: 820, fontSize: 13, widthOf: approximateWidth };

/**
 * Writes a self-contained HTML file: no scripts, no requests. It is accessible to screen readers, has a print style, and
 * on screen is light or dark as the reader prefers.
 */
export const writeHtml: ReportWriter = async function* (document) {
  const encoder = new TextEncoder();
  yield encoder.encode(headOf(document));
  for (const [i, part] of document.parts.entries()) {
    if (part.kind === "chart") yield encoder.encode(figureOf(await part.read(), `chart${i + 1}`));
    else for await (const text of tableOf(part, document.title)) yield encoder.encode(text);
  }
  const { footer } = document.looks;
  yield encoder.encode(`${footer === "" ? "" : `<footer>${escape(footer)}</footer>`}</main></body></html>\n`);
};

function headOf({ title, subtitle, facts, parts, layout, looks, wording }: ReportDocument): string {
  const sizes = parts.flatMap((part) =>
    part.kind === "table" ? [layOutTable(part.columns, { layout, shown: part.shown }).size] : []
  );
  const paper = `${sizes.includes("A3") ? "A3" : "A4"} ${layout}`;
  const listed = facts.map(([name, value]) => `<dt>${escape(name)}</dt><dd>${escape(value)}</dd>`).join("");
  return `<!DOCTYPE html>
<html lang="${wording.tag}"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>${escape(title)}</title>
<style>${styleOf(looks, paper)}</style></head><body><main>
${brandOf(looks)}
<h1>${escape(title)}</h1><p class="lead">${escape(subtitle)}</p>
<dl>${listed}</dl>
`;
}

/** The logo, or the name of the product. */
function brandOf({ logo, productName }: Looks): string {
  if (!logo) return `<p class="brand">${escape(productName)}</p>`;
  const { contentType, content, width, height } = logo;
  const data = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("base64");
  return `<p class="brand"><img src="data:${contentType};base64,${data}" width="${width}" height="${height}" ` +
    `alt="${escape(productName)}"></p>`;
}

/**
 * Writes a table in pieces. Group columns are headings, each before a `tbody` of its own.
 * @param caption names the table for screen readers
 */
async function* tableOf(table: DocumentTable, caption: string): AsyncGenerator<string> {
  const { columns, shown, title } = table;
  const name = escape(title ?? caption);
  const heads = shown.map((position) => columns[position]).map((column) => column ? columnHead(column) : "");
  yield `${title === null ? "" : `<h2>${name}</h2>`}<div class="rows" role="region" aria-label="${name}" ` +
    `tabindex="0"><table><caption>${name}</caption>\n<thead><tr>${heads.join("")}</tr></thead><tbody>\n`;
  const body = new TableBody(table);
  for await (const lines of table.lines()) yield body.add(lines);
  const { count, end } = body;
  const counted = `<p${count === 0 ? ' class="empty"' : ""}>${table.wording.words.rowCount(count)}</p>`;
  yield `</${end}></table></div>\n${counted}\n`;
}

/**
 * The minimum width of a text column in characters. With many columns the table scrolls instead of breaking every word.
 */
const minCharacters = (width = 22): number =>
  Math.round(Math.max(Math.min(width, 18), Math.min(width * .6, 22)));

function columnHead({ title, type, width }: Column): string {
  const numeric = isNumeric(type) ? ' class="n"' : "";
  const wide = type === "text" ? ` style="--w:${minCharacters(width)}"` : "";
  return `<th scope="col"${numeric}${wide}>${escape(title)}</th>`;
}

class TableBody {
  count = 0;
  /** The open element. */
  end: "tbody" | "tfoot" = "tbody";
  #columns: Column[];
  #isOdd = false;
  #last: TableLine["kind"] | null = null;

  constructor(private readonly table: DocumentTable) {
    this.#columns = table.shown.flatMap((position) => table.columns[position] ?? []);
  }

  add(lines: Iterable<TableLine>): string {
    let text = "";
    for (const line of lines) {
      if (line.kind === "row") text += this.#row(line);
      else text += line.kind === "group" ? this.#group(line) : this.#total(line);
      this.#last = line.kind;
    }
    return text;
  }

  #row({ cells }: RowLine): string {
    this.count++;
    let text = this.#isOdd ? `<tr class="odd">` : "<tr>";
    this.#isOdd = !this.#isOdd;
    for (const [i, { type }] of this.#columns.entries()) {
      text += htmlCell(cells[this.table.shown[i] ?? 0] ?? null, type, this.table.wording);
    }
    return text + "</tr>\n";
  }

  #group({ level, column, value }: GroupLine): string {
    const { columns, shown } = this.table;
    this.#isOdd = false;
    const begin = this.#last === null || this.#last === "group" ? "" : "</tbody><tbody>\n";
    const heading = `${columns[column]?.title}: ${this.table.wording.group(value, columns[column]?.type)}`;
    return `${begin}<tr class="group l${
      Math.min(level, 3)
    }"><th colspan="${shown.length}" scope="rowgroup">` +
      `${escape(heading)}</th></tr>\n`;
  }

  /** The label takes the columns before the first total; if there is none, a row of its own. */
  #total({ level, total, label, cells }: TotalLine): string {
    const { shown, wording } = this.table;
    const begin = level === 0 && this.end === "tbody" ? "</tbody><tfoot>\n" : "";
    if (level === 0) this.end = "tfoot";
    const first = Math.max(0, shown.findIndex((position) => cells[position] !== null));
    const scope = first === 0 ? "" : ` scope="row"`;
    let text = `<tr class="sum l${Math.min(level, 3)}"><th colspan="${first || shown.length}"${scope}>${
      escape(label)
    }</th>`;
    if (first === 0) text += `</tr>\n<tr class="sum">`;
    for (const [i, { type }] of this.#columns.entries()) {
      if (i >= first) {
        text += htmlCell(cells[shown[i] ?? 0] ?? null, total === "count" ? "integer" : type, wording);
      }
    }
    return `${begin}${text}</tr>\n`;
  }
}

function htmlCell(cell: string | null, type: ColumnType, wording: Wording): string {
  if (cell === null) return "<td></td>";
  if (type === "text") return `<td dir="auto">${escape(cell)}</td>`;
  const text = escape(wording.cell(cell, type));
  if (isNumeric(type)) return `<td class="n">${text}</td>`;
  if (type === "instant") {
    return `<td class="t"><time datetime="${escape(isoInstant(cell))}">${text}</time></td>`;
  }
  return `<td class="t">${text}</td>`;
}

/** A chart as SVG, with its values as a text for screen readers. @param id unique in the document */
function figureOf(chart: ChartData, id: string): string {
  const heading = `<h2>${escape(chart.title)}</h2>`;
  if (!hasValues(chart)) return `${heading}<p class="empty">${escape(chart.words.noData)}</p>\n`;
  const { width, height, shapes } = drawChart(chart, FRAME);
  return `${heading}<figure><svg role="img" aria-labelledby="${id}t ${id}d" ` +
    `viewBox="0 0 ${width} ${number(height)}" width="${width}" height="${number(height)}">` +
    `<title id="${id}t">${escape(chart.title)}</title><desc id="${id}d">${
      escape(describeChart(chart))
    }</desc>` +
    `${shapes.map(element).join("")}</svg></figure>\n`;
}

const number = (value: number): string => String(Math.round(value * 100) / 100);
const place = ([x, y]: Point): string => `${number(x)} ${number(y)}`;
const fill = (paint: Paint): string => typeof paint === "number" ? `f${paint}` : `f-${paint}`;
const stroke = (paint: Paint): string => typeof paint === "number" ? `s${paint}` : `s-${paint}`;

function element(shape: Shape): string {
  switch (shape.kind) {
    case "rect": {
      const { x, y, width, height } = shape;
      return `<rect class="${fill(shape.fill)}" x="${number(x)}" y="${number(y)}" width="${number(width)}" ` +
        `height="${number(height)}"/>`;
    }
    case "line":
      return `<polyline class="${stroke(shape.stroke)}" stroke-width="${number(shape.width)}" ` +
        `stroke-linejoin="round" points="${shape.points.map(place).join(" ")}"/>`;
    case "dot":
      return `<circle class="${fill(shape.fill)}" cx="${number(shape.at[0])}" cy="${number(shape.at[1])}" ` +
        `r="${number(shape.radius)}"/>`;
    case "area": {
      const outline = shape.width > 0
        ? ` style="stroke:var(--page);stroke-width:${number(shape.width)}"`
        : "";
      return `<path class="${fill(shape.fill)}"${outline} d="${shape.path.map(step).join("")}"/>`;
    }
    case "text":
      return `<text class="${fill(shape.fill)}" x="${number(shape.at[0])}" y="${number(shape.at[1])}" ` +
        `font-size="${number(shape.size)}" text-anchor="${shape.anchor}">${escape(shape.text)}</text>`;
  }
}

function step(step: PathStep): string {
  if (step.to === "close") return "Z";
  if (step.to === "curve") return `C${place(step.first)} ${place(step.second)} ${place(step.at)}`;
  return `${step.to === "move" ? "M" : "L"}${place(step.at)}`;
}

/** Escapes text. HTML does not allow control characters, so they become the replacement character. */
const escape = (text: string): string => escapeUTF8(text).replaceAll(/(?![\t\n\r])\p{Cc}/gu, "\ufffd");

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
const styleOf = (looks: Looks, paper: string): string => `
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
