import { escapeUTF8 } from "entities/escape";
import { Buffer } from "node:buffer";
import type { Looks } from "../../looks/looks.ts";
import { isNumeric, isoInstant } from "../cells.ts";
import { describeChart, drawChart, hasValues } from "../charts/draw.ts";
import { approximateWidth, type Paint, type PathStep, type Point, type Shape } from "../charts/drawing.ts";
import type { Column, ColumnType } from "../columns.ts";
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
import { styleOf } from "./html_style.ts";
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
