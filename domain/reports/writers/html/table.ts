import { isNumeric, isoInstant } from "../../cells.ts";
import type { Column, ColumnType } from "../../columns.ts";
import type { DocumentTable, GroupLine, RowLine, TableLine, TotalLine } from "../../document.ts";
import type { Wording } from "../../wording.ts";
import { escape } from "./escape.ts";

/**
 * Writes a table in pieces. Group columns are headings, each before a `tbody` of its own.
 * @param caption names the table for screen readers
 */
export async function* tableOf(table: DocumentTable, caption: string): AsyncGenerator<string> {
  const { columns, shown, title } = table;
  const name = escape(title ?? caption);
  const heads = shown.map((position) => columns[position]).map((column) => column ? columnHead(column) : "");
  yield `${title === null ? "" : `<h2>${name}</h2>`}<div class="rows" role="region" aria-label="${name}" ` +
    `tabindex="0"><table><caption>${name}</caption>\n<thead><tr>${heads.join("")}</tr></thead><tbody>\n`;
  const body = new TableBody(table);
  for await (const lines of table.lines()) yield body.add(lines);
  const { count, end } = body;
  const counted = count === 0
    ? `<p class="empty">No rows.</p>`
    : `<p>${count} ${count === 1 ? "row" : "rows"}</p>`;
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
