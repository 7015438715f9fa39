import { readableText } from "../cells.ts";
import type { Chart, ReportTemplate } from "../report_template.ts";
import type { Row } from "../rows.ts";

/** Values told apart; beyond them all further ones count together, so that memory stays bounded. */
const MOST_VALUES = 5_000;
const MOST_BARS = 12;
const NO_VALUE = "(none)";
const OTHERS = "(others)";

export interface Bar {
  label: string;
  value: number;
}

/** Counts what a chart shows while the rows go by. */
export class Tally {
  #values = new Map<string, number>();
  #by: number;
  #sum: number;

  constructor(private readonly template: ReportTemplate, readonly chart: Chart) {
    const columns = Object.keys(template.columns);
    this.#by = columns.indexOf(chart.by);
    this.#sum = chart.sum ? columns.indexOf(chart.sum) : -1;
  }

  add(rows: Row[]): void {
    const type = this.template.columns[this.chart.by]?.type ?? "text";
    for (const row of rows) {
      const cell = row[this.#by] ?? null;
      const value = cell === null || cell === "" ? NO_VALUE : readableText(cell, type);
      const label = this.#values.has(value) || this.#values.size < MOST_VALUES ? value : OTHERS;
      const weight = this.#sum < 0 ? 1 : Number(row[this.#sum] ?? 0);
      this.#values.set(label, (this.#values.get(label) ?? 0) + (Number.isFinite(weight) ? weight : 0));
    }
  }

  /** The largest values first; what does not fit is summed up as the last bar. */
  bars(): Bar[] {
    const all = [...this.#values].map(([label, value]) => ({ label, value }));
    const named = all.filter(({ label }) => label !== OTHERS)
      .sort((a, b) => b.value - a.value || (a.label < b.label ? -1 : 1));
    const shown = named.slice(0, MOST_BARS);
    const rest = [...named.slice(MOST_BARS), ...all.filter(({ label }) => label === OTHERS)];
    if (rest.length === 0) return shown;
    return [...shown, { label: OTHERS, value: rest.reduce((sum, { value }) => sum + value, 0) }];
  }
}

/** The tally of a template's chart, or null when it has none. */
export const tallyOf = (template: ReportTemplate): Tally | null =>
  template.chart ? new Tally(template, template.chart) : null;
