import { readableText } from "../cells.ts";
import type { Chart, ReportTemplate } from "../report_template.ts";
import type { Row } from "../rows.ts";

/** How many values are counted separately. Further values are counted together, so that memory stays bounded. */
const MAX_VALUES = 5_000;
const MAX_BARS = 12;
const NO_VALUE = "(none)";
const OTHERS = "(others)";

export interface Bar {
  label: string;
  value: number;
}

/** Collects the data of a chart while the rows are written. */
export class ChartCounter {
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
      const label = this.#values.has(value) || this.#values.size < MAX_VALUES ? value : OTHERS;
      const weight = this.#sum < 0 ? 1 : Number(row[this.#sum] ?? 0);
      this.#values.set(label, (this.#values.get(label) ?? 0) + (Number.isFinite(weight) ? weight : 0));
    }
  }

  /** The MAX_BARS largest values in descending order; the last bar is the sum of all others. */
  bars(): Bar[] {
    const all = [...this.#values].map(([label, value]) => ({ label, value }));
    const named = all.filter(({ label }) => label !== OTHERS)
      .sort((a, b) => b.value - a.value || (a.label < b.label ? -1 : 1));
    const shown = named.slice(0, MAX_BARS);
    const rest = [...named.slice(MAX_BARS), ...all.filter(({ label }) => label === OTHERS)];
    if (rest.length === 0) return shown;
    return [...shown, { label: OTHERS, value: rest.reduce((sum, { value }) => sum + value, 0) }];
  }
}

/** A counter for the template's chart; null if it has no chart. */
export const chartCounterOf = (template: ReportTemplate): ChartCounter | null =>
  template.chart ? new ChartCounter(template, template.chart) : null;
