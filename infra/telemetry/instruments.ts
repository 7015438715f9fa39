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

/** The key of a series in memory. It is cheaper than the printed labels, which matters because every request is counted. */
const keyOf = (values: readonly string[]): string => values.join("\n");

/** A Prometheus counter. It counts from the start of the process. */
export class Counter<L extends string> implements Instrument {
  readonly #series = new Map<string, Sample>();

  constructor(private readonly o: Description<L>) {
    if (o.labels.length === 0) this.add([], 0); // without labels there is one series from the start
  }

  /** @param values one value per label, in the order of the labels. */
  add(values: readonly string[], by = 1): void {
    const key = keyOf(values);
    const known = this.#series.get(key);
    if (known) known.value += by;
    else this.#series.set(key, { values, value: by });
  }

  print(): string {
    return samples(this.o, "counter", this.#series.values());
  }
}

/** Default bounds of the buckets. */
const SECONDS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

/** A Prometheus histogram of durations in seconds. Default: buckets from 5 ms to one minute. */
export class Histogram<L extends string> implements Instrument {
  readonly #series = new Map<string, { values: readonly string[]; buckets: number[]; sum: number }>();
  readonly #bounds: readonly number[];

  constructor(private readonly o: Description<L> & { bounds?: readonly number[] }) {
    this.#bounds = o.bounds ?? SECONDS;
  }

  observe(values: readonly string[], seconds: number): void {
    this.observer(values)(seconds);
  }

  /** Returns a function that observes with these label values: faster for many observations. */
  observer(values: readonly string[]): (seconds: number) => void {
    const key = keyOf(values);
    const counts = this.#series.get(key) ?? { values, buckets: this.#bounds.map(() => 0).concat(0), sum: 0 };
    this.#series.set(key, counts);
    return (seconds) => {
      const at = this.#bounds.findIndex((bound) => seconds <= bound);
      const index = at < 0 ? this.#bounds.length : at;
      counts.buckets[index] = (counts.buckets[index] ?? 0) + 1;
      counts.sum += seconds;
    };
  }

  print(): string {
    const { name, help, labels } = this.o;
    let text = heading(name, help, "histogram");
    for (const { values, buckets, sum } of this.#series.values()) {
      const key = series(labels, values);
      let below = 0;
      buckets.forEach((n, index) => {
        below += n;
        text += `${name}_bucket{${key ? `${key},` : ""}le="${this.#bounds[index] ?? "+Inf"}"} ${below}\n`;
      });
      const set = key ? `{${key}}` : "";
      text += `${name}_sum${set} ${sum}\n${name}_count${set} ${below}\n`;
    }
    return text;
  }
}

/** Prints a Prometheus gauge. @param current label values and the current value of each. */
export const gauge = <L extends string>(o: Description<L>, current: readonly Sample[]): string =>
  samples(o, "gauge", current);

interface Sample {
  values: readonly string[];
  value: number;
}

function samples<L extends string>(
  { name, help, labels }: Description<L>,
  type: string,
  current: Iterable<Sample>,
): string {
  let text = heading(name, help, type);
  for (const { values, value } of current) {
    const key = series(labels, values);
    text += `${name}${key ? `{${key}}` : ""} ${value}\n`;
  }
  return text;
}

const EVERY_MS = 500;
/** Number of measurements kept: half a minute, longer than the usual scrape interval. */
const KEPT = 60;

/** Measures the event loop delay: how late timers of this process fire. Every request waits at least this long. */
export class EventLoopDelay {
  readonly #late: number[] = [];
  readonly #timer: ReturnType<typeof setInterval>;

  constructor() {
    let expected = performance.now() + EVERY_MS;
    this.#timer = setInterval(() => {
      const now = performance.now();
      this.#late.push(Math.max(0, now - expected));
      if (this.#late.length > KEPT) this.#late.shift();
      expected = now + EVERY_MS;
    }, EVERY_MS);
  }

  /** The longest delay of the last half minute, in seconds. */
  worstSeconds(): number {
    return Math.max(0, ...this.#late) / 1000;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
