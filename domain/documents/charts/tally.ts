import type { Column } from "../columns.ts";
import type { ChartData, ChartKind } from "../document.ts";
import { ExactSum } from "../exact_total.ts";
import type { RowBatch } from "../row_batch.ts";
import type { Wording } from "../wording.ts";

/** Maximum number of values that are counted separately. Further values are counted together, so that memory stays bounded. */
const MAX_VALUES = 5_000;
/** Maximum number of bars or slices. The other values are combined in one more. */
const MAX_CATEGORIES = 12;
const OTHERS = "(others)";

/** A chart of a table's rows: for each value of `by` the number of rows, or the sum of `sum`. Not drawn in CSV. */
export interface Chart<C extends string = string> {
  title: string;
  /** Absent: "bar". A line goes through the values of `by` in ascending order; bars and slices are sorted by size. */
  kind?: ChartKind;
  by: C;
  sum?: C;
}

/** Collects the data of a table's chart while its rows are read. */
export class Tally {
  /** True after all rows were added. */
  isComplete = false;
  #values = new Map<string, ExactSum>();
  #by: number;
  #sum: number;

  constructor(
    private readonly chart: Chart,
    private readonly columns: Record<string, Column>,
    private readonly wording: Wording,
  ) {
    const names = Object.keys(columns);
    this.#by = names.indexOf(chart.by);
    this.#sum = chart.sum === undefined ? -1 : names.indexOf(chart.sum);
  }

  /** Reads a batch to its end. */
  add(batch: RowBatch): void {
    const type = this.columns[this.chart.by]?.type ?? "text";
    while (batch.next()) {
      const weight = this.#sum < 0 ? null : batch.text(this.#sum);
      const given = this.wording.group(batch.text(this.#by), type);
      const label = this.#values.has(given) || this.#values.size < MAX_VALUES ? given : OTHERS;
      let sum = this.#values.get(label);
      if (!sum) this.#values.set(label, sum = new ExactSum());
      if (this.#sum < 0) sum.add("1");
      else if (weight !== null && Number.isFinite(Number(weight))) sum.add(weight);
    }
  }

  data(): ChartData {
    const { title, kind = "bar", sum } = this.chart;
    const all = [...this.#values].map(([label, total]) => ({ label, value: Number(total.sum()) }));
    const points = kind === "line" ? inOrder(all) : largest(all);
    const { words } = this.wording;
    const name = sum === undefined ? words.rows : this.wording.text(this.columns[sum]?.title ?? sum);
    return {
      words,
      kind,
      title: this.wording.text(title),
      labels: points.map(({ label }) => label === OTHERS ? words.others : label),
      series: [{ name, values: points.map(({ value }) => value) }],
      omitted: 0,
    };
  }
}

interface Point {
  label: string;
  value: number;
}

const byNumber = new Intl.Collator("en", { numeric: true });

/** The points of a line, by label; values that were counted together come last. */
const inOrder = (points: Point[]): Point[] =>
  points.toSorted((a, b) =>
    Number(a.label === OTHERS) - Number(b.label === OTHERS) || byNumber.compare(a.label, b.label)
  );

/** The MAX_CATEGORIES largest values in descending order, and after them the sum of all others. */
function largest(all: Point[]): Point[] {
  const named = all.filter(({ label }) => label !== OTHERS)
    .sort((a, b) => b.value - a.value || (a.label < b.label ? -1 : 1));
  const shown = named.slice(0, MAX_CATEGORIES);
  const rest = [...named.slice(MAX_CATEGORIES), ...all.filter(({ label }) => label === OTHERS)];
  if (rest.length === 0) return shown;
  return [...shown, { label: OTHERS, value: rest.reduce((sum, { value }) => sum + value, 0) }];
}

/** The columns of a chart with rows of its own: one label and the values of its series in each row. */
interface ChartColumns {
  kind: ChartKind;
  columns: Record<string, Column>;
  /** The column of the labels. */
  label: string;
  /** The columns of the values. */
  values: readonly string[];
}

/** Reads the rows of a chart's own query. More than MAX_VALUES of them are counted, but not kept. */
export async function readPoints(
  { kind, columns, label, values }: ChartColumns,
  title: string,
  batches: AsyncIterable<RowBatch>,
  wording: Wording,
): Promise<ChartData> {
  const names = Object.keys(columns);
  const positions = [label, ...values].map((column) => names.indexOf(column));
  const type = columns[label]?.type ?? "text";
  const data: ChartData = {
    words: wording.words,
    kind,
    title,
    labels: [],
    series: values.map((column) => ({ name: wording.text(columns[column]?.title ?? column), values: [] })),
    omitted: 0,
  };
  for await (const batch of batches) {
    while (batch.next()) {
      const [name = null, ...cells] = positions.map((position) => batch.text(position));
      if (data.labels.length === MAX_VALUES) {
        data.omitted++;
        continue;
      }
      data.labels.push(wording.group(name, type));
      for (const [i, { values }] of data.series.entries()) values.push(finiteNumber(cells[i] ?? null));
    }
  }
  return data;
}

function finiteNumber(cell: string | null): number | null {
  const value = cell === null ? NaN : Number(cell);
  return Number.isFinite(value) ? value : null;
}
