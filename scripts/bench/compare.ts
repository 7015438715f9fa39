/** One measured value, with a note such as a p95 that is printed beside it. */
export interface Sample {
  value: number;
  note?: string;
}

type Run = () => number | Sample | Promise<number | Sample>;

/** Bounds of a measured value. */
export interface Target {
  min?: number;
  max?: number;
}

/** Factor of the amounts of data and the durations; less than 1 to check only that a benchmark works. */
export const SCALE = Number(Deno.env.get("BENCH_SCALE") ?? 1);

export const scaled = (amount: number): number => Math.ceil(amount * SCALE);

/** Prints one value, and whether it is within its target. A value that the system does not report is NaN. */
export function report(name: string, value: number, unit: string, { min, max }: Target = {}): void {
  if (Number.isNaN(value)) return;
  const goal = min !== undefined
    ? ` (at least ${min}${unit})`
    : max !== undefined
    ? ` (at most ${max}${unit})`
    : "";
  const mark = goal === "" ? " " : value >= (min ?? value) && value <= (max ?? value) ? "✓" : "✗";
  console.log(`  ${mark} ${name}: ${rounded(value)}${unit}${goal}`);
}

/** Measures `run` once to warm up and then `rounds` times; prints the median and the rounds. */
export async function measure(
  o: { name: string; unit: string; run: Run; rounds?: number } & Target,
): Promise<void> {
  const samples: Sample[] = [];
  for (let round = 0; round <= (o.rounds ?? 3); round++) samples.push(await sampleOf(o.run));
  samples.shift();
  report(o.name, median(samples.map(({ value }) => value)), o.unit, o);
  console.log(`    rounds: ${samples.map((sample) => text(sample, o.unit)).join("; ")}`);
}

/**
 * Measures ours and the baseline alternately, once to warm up and then `rounds` times; prints the median of the ratios
 * and the rounds. With `maxTime` the ratio is our time as a multiple of the baseline's time, otherwise our speed as a
 * multiple of the baseline's speed.
 * @param o.unit `/s` if the runs return rates, otherwise the unit of the times they return
 * @param o.minSpeed lowest accepted speed; `o.maxTime`: highest accepted time
 */
export async function compare(
  o: {
    name: string;
    unit: "/s" | " ms" | " µs";
    ours: Run;
    baseline: Run;
    rounds?: number;
    minSpeed?: number;
    maxTime?: number;
  },
): Promise<void> {
  const ratios: number[] = [];
  const rounds: string[] = [];
  for (let round = 0; round <= (o.rounds ?? 3); round++) {
    const ours = await sampleOf(o.ours);
    const baseline = await sampleOf(o.baseline);
    if (round === 0) continue;
    const ratio = ours.value / baseline.value;
    ratios.push(o.unit === "/s" || o.maxTime !== undefined ? ratio : 1 / ratio);
    rounds.push(`${text(ours, o.unit)} against ${text(baseline, o.unit)}`);
  }
  const target = o.maxTime !== undefined
    ? { max: o.maxTime }
    : o.minSpeed !== undefined
    ? { min: o.minSpeed }
    : {};
  report(o.name, median(ratios), " ×", target);
  console.log(`    rounds: ${rounds.join("; ")}`);
}

/** Time of `work` in ms. */
export async function timeOf(work: () => unknown): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Percentile: the value below which the given share (0 to 1) of the values lies; 0 if there are none. */
export const percentile = (values: number[], share: number): number =>
  rounded(values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0);

export const median = (values: number[]): number => percentile(values, 0.5);

async function sampleOf(run: Run): Promise<Sample> {
  const sample = await run();
  return typeof sample === "number" ? { value: sample } : sample;
}

const text = ({ value, note }: Sample, unit: string): string =>
  `${value < 100 ? rounded(value) : Math.round(value)}${unit}${note ? ` (${note})` : ""}`;

const rounded = (value: number): number => Math.round(value * 100) / 100;
