import { escapeUTF8 } from "entities/escape";
import { isNumeric, isoInstant, readableText } from "../cells.ts";
import type { Column, ColumnType } from "../columns.ts";
import type { ChartData, DocumentTable, TableLine } from "../document.ts";
import { groupText } from "../table_lines.ts";
import { layOutTable } from "./pdf/layout.ts";
import type { ReportWriter } from "./writer.ts";

const styleOf = (paper: string): string => `
:root { font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; color: #1a2230; }
body { margin: 2rem auto; max-width: 96rem; padding: 0 1.5rem; background: #fff; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.lead { margin: 0 0 1rem; color: #4a5568; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0 0 1.5rem; }
dt { color: #4a5568; } dd { margin: 0; overflow-wrap: anywhere; }
.rows { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
th, td { padding: .35rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid #d9dee7; }
thead th { background: #24415f; color: #fff; position: sticky; top: 0; }
tbody tr:nth-child(even) { background: #f4f6f9; }
thead th { min-width: calc(var(--w, 0) * .85ch); } td { overflow-wrap: anywhere; white-space: pre-line; } .n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td.t { white-space: nowrap; }
svg { max-width: 100%; height: auto; } .empty { color: #4a5568; }
@media print {
  @page { size: ${paper}; margin: 12mm; }
  :root { font-size: 9px; } body { margin: 0; max-width: none; padding: 0; } .rows { overflow: visible; }
  thead th { min-width: calc(var(--w, 0) * .5ch); }
  thead { display: table-header-group; } thead th { position: static; -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  tr, figure { break-inside: avoid; }
}`;

/**
 * The minimum width of a text column in characters. With many columns the table scrolls instead of breaking every word.
 */
const minCharacters = (width = 22): number =>
  Math.round(Math.max(Math.min(width, 18), Math.min(width * .6, 22)));

/**
 * Writes a self-contained HTML file: no scripts, no requests. It is accessible to screen readers and has a print style.
 */
export const writeHtml: ReportWriter = async function* ({ title, subtitle, facts, parts, layout }) {
  const encoder = new TextEncoder();
  const sizes = parts.flatMap((part) => part.kind === "table" ? [layOutTable(part.columns).size] : []);
  const paper = `${sizes.includes("A3") ? "A3" : "A4"} ${layout}`;
  yield encoder.encode(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>${escape(title)}</title>
<style>${styleOf(paper)}</style></head><body><main>
<h1>${escape(title)}</h1><p class="lead">${escape(subtitle)}</p>
<dl>${facts.map(([name, value]) => `<dt>${escape(name)}</dt><dd>${escape(value)}</dd>`).join("")}</dl>
`);
  for (const part of parts) {
    if (part.kind === "chart") yield encoder.encode(figure(await part.read()));
    else for await (const text of tableOf(part, title)) yield encoder.encode(text);
  }
  yield encoder.encode(`</main></body></html>\n`);
};

async function* tableOf(table: DocumentTable, documentTitle: string): AsyncGenerator<string> {
  const { title, columns, shown } = table;
  const heads = shown.map((position) => columns[position]).map((column) => column ? columnHead(column) : "");
  yield `${
    title === null ? "" : `<h2>${escape(title)}</h2>`
  }<div class="rows" role="region" aria-label="Rows" ` +
    `tabindex="0"><table><caption>${escape(title ?? documentTitle)}</caption>
<thead><tr>${heads.join("")}</tr></thead><tbody>
`;
  let count = 0;
  for await (const lines of table.lines()) {
    let text = "";
    for (const line of lines) {
      if (line.kind === "row") count++;
      text += lineOf(line, table);
    }
    yield text;
  }
  const counted = count === 0
    ? `<p class="empty">No rows.</p>`
    : `<p>${count} ${count === 1 ? "row" : "rows"}</p>`;
  yield `</tbody></table></div>\n${counted}\n`;
}

function columnHead({ title, type, width }: Column): string {
  const numeric = isNumeric(type) ? ' class="n"' : "";
  const wide = type === "text" ? ` style="--w:${minCharacters(width)}"` : "";
  return `<th scope="col"${numeric}${wide}>${escape(title)}</th>`;
}

function lineOf(line: TableLine, { columns, shown }: DocumentTable): string {
  if (line.kind === "group") {
    const column = columns[line.column];
    const text = `${column?.title}: ${groupText(line.value, column)}`;
    return `<tr class="g"><th colspan="${shown.length}" scope="rowgroup">${escape(text)}</th></tr>\n`;
  }
  let text = line.kind === "row" ? "<tr>" : `<tr class="sum">`;
  if (line.kind === "total") {
    text = `<tr class="sum"><th colspan="${shown.length}">${escape(line.label)}</th></tr>` + text;
  }
  for (const position of shown) {
    text += htmlCell(line.cells[position] ?? null, columns[position]?.type ?? "text");
  }
  return text + "</tr>\n";
}

function htmlCell(cell: string | null, type: ColumnType): string {
  if (cell === null) return "<td></td>";
  if (type === "text") return `<td dir="auto">${escape(cell)}</td>`;
  if (isNumeric(type)) return `<td class="n">${escape(cell)}</td>`;
  const text = escape(readableText(cell, type));
  if (type === "instant") {
    return `<td class="t"><time datetime="${escape(isoInstant(cell))}">${text}</time></td>`;
  }
  return `<td class="t">${text}</td>`;
}

/** A bar chart as SVG, with its values as a text for screen readers. */
function figure({ title, labels, series }: ChartData): string {
  if (labels.length === 0) return "";
  const bars = labels.map((label, i) => ({ label, value: series[0]?.values[i] ?? 0 }));
  const most = Math.max(...bars.map(({ value }) => value), 1);
  const line = 26;
  const drawn = bars.map(({ label, value }, i) => {
    const width = Math.max(1, Math.round(Math.max(value, 0) / most * 460));
    const y = i * line;
    return `<text x="250" y="${y + 17}" text-anchor="end">${escape(shorten(label))}</text>` +
      `<rect x="258" y="${y + 4}" width="${width}" height="18" fill="#3f6ea5"/>` +
      `<text x="${264 + width}" y="${y + 17}">${number(value)}</text>`;
  });
  const description = bars.map(({ label, value }) => `${label}: ${number(value)}`).join("; ");
  return `<h2>${escape(title)}</h2><figure style="margin:0"><svg role="img" aria-label="${
    escape(description)
  }" ` +
    `viewBox="0 0 820 ${bars.length * line}" width="820" font-size="13" fill="#1a2230">${
      drawn.join("")
    }</svg></figure>\n`;
}

const shorten = (label: string): string => {
  const characters = [...label];
  return characters.length > 36 ? characters.slice(0, 35).join("") + "…" : label;
};
const number = (value: number): string => String(Math.round(value * 100) / 100);

/** Escapes text. HTML does not allow control characters, so they become the replacement character. */
const escape = (text: string): string => escapeUTF8(text).replaceAll(/(?![\t\n\r])\p{Cc}/gu, "\ufffd");
