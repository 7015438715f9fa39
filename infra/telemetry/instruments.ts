// Counters and histograms in the Prometheus text format. Label values must come from a bounded set: every combination
// stays in memory as long as the process runs.

/** Prints its samples, after their `# HELP` and `# TYPE` lines. */
export interface Instrument {
  print(): string;
}

interface Description<L extends string> {
  name: string;
  help: string;
  labels: readonly L[];
}

const escaped = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');

const heading = (name: string, help: string, type: string): string =>
  `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;

function series(labels: readonly string[], values: readonly string[]): string {
  return labels.map((label, index) => `${label}="${escaped(values[index] ?? "")}"`).join(",");
}

/** A Prometheus counter. It counts from the start of the process. */
export class Counter<L extends string> implements Instrument {
  readonly #counts = new Map<string, number>();

  constructor(private readonly o: Description<L>) {}

  /** @param values one value per label, in the order of the labels. */
  add(values: readonly string[], by = 1): void {
    const key = series(this.o.labels, values);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + by);
  }

  print(): string {
    const { name, help, labels } = this.o;
    const counts = labels.length === 0 && this.#counts.size === 0 ? [["", 0] as const] : [...this.#counts];
    return heading(name, help, "counter") +
      counts.map(([key, n]) => `${name}${key ? `{${key}}` : ""} ${n}\n`).join("");
  }
}

/** Default bounds of the buckets. */
const SECONDS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

/** A Prometheus histogram of durations in seconds. Default: buckets from 5 ms to one minute. */
export class Histogram<L extends string> implements Instrument {
  readonly #series = new Map<string, { buckets: number[]; sum: number }>();
  readonly #bounds: readonly number[];

  constructor(private readonly o: Description<L> & { bounds?: readonly number[] }) {
    this.#bounds = o.bounds ?? SECONDS;
  }

  observe(values: readonly string[], seconds: number): void {
    this.observer(values)(seconds);
  }

  /** Returns a function that observes with these label values: faster for many observations. */
  observer(values: readonly string[]): (seconds: number) => void {
    const key = series(this.o.labels, values);
    const counts = this.#series.get(key) ?? { buckets: this.#bounds.map(() => 0).concat(0), sum: 0 };
    this.#series.set(key, counts);
    return (seconds) => {
      const at = this.#bounds.findIndex((bound) => seconds <= bound);
      const index = at < 0 ? this.#bounds.length : at;
      counts.buckets[index] = (counts.buckets[index] ?? 0) + 1;
      counts.sum += seconds;
    };
  }

  print(): string {
    const { name, help } = this.o;
    let text = heading(name, help, "histogram");
    for (const [key, { buckets, sum }] of this.#series) {
      let below = 0;
      buckets.forEach((n, index) => {
        below += n;
        text += `${name}_bucket{${key ? `${key},` : ""}le="${this.#bounds[index] ?? "+Inf"}"} ${below}\n`;
      });
      const labels = key ? `{${key}}` : "";
      text += `${name}_sum${labels} ${sum}\n${name}_count${labels} ${below}\n`;
    }
    return text;
  }
}

/** Prints a Prometheus gauge. @param samples label values and the current value of each. */
export function gauge<L extends string>(
  { name, help, labels }: Description<L>,
  samples: readonly { values: readonly string[]; value: number }[],
): string {
  return heading(name, help, "gauge") + samples.map(({ values, value }) => {
    const key = series(labels, values);
    return `${name}${key ? `{${key}}` : ""} ${value}\n`;
  }).join("");
}
