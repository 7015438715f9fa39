/** Larger values are drawn at this one, because the difference of two values must stay finite. */
const MAX_VALUE = 1e300;
/** Smaller values are drawn as zero, because a tick step of a fifth of them would be no exact double. */
const MIN_VALUE = 1e-290;
/** Numbers with more digits before the point are shown as powers of ten. */
const POWERS_FROM = 1e15;
const STEPS = [1, 2, 2.5, 5, 10];

const clamped = (value: number): number =>
  Math.abs(value) < MIN_VALUE ? 0 : Math.max(-MAX_VALUE, Math.min(MAX_VALUE, value));

/** An axis: its round ticks in ascending order; the first and the last one are its ends. */
export interface Scale {
  ticks: number[];
  /** The share of the axis from its first tick to the value, 0 to 1. */
  shareOf(value: number): number;
}

/**
 * An axis that contains all values, with about `count` round ticks. Whole numbers get whole ticks.
 * @param fromZero true for bars, whose length is the value; otherwise zero is included only if it is near
 */
export function scaleOf(values: number[], { count, fromZero }: { count: number; fromZero: boolean }): Scale {
  let low = clamped(values.reduce((least, value) => Math.min(least, value), Infinity));
  let high = clamped(values.reduce((most, value) => Math.max(most, value), -Infinity));
  if (values.length === 0) [low, high] = [0, 1];
  if (fromZero || (low > 0 && low <= high * 0.6)) low = Math.min(low, 0);
  if (fromZero || (high < 0 && high >= low * 0.6)) high = Math.max(high, 0);
  if (low === high) [low, high] = low === 0 ? [0, 1] : [Math.min(0, low), Math.max(0, high)];
  const isWhole = values.every(Number.isInteger);
  const step = roundStep((high - low) / Math.max(1, count), isWhole);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.max(first + 1, Math.ceil(high / step - 1e-9));
  const ticks = Array.from({ length: last - first + 1 }, (_, i) => withoutNoise((first + i) * step));
  const [start = 0, end = 1] = [ticks[0], ticks.at(-1)];
  return { ticks, shareOf: (value) => (clamped(value) - start) / (end - start) };
}

/** The smallest of 1, 2, 2.5, 5 times a power of ten that is at least `rough`. */
function roundStep(rough: number, isWhole: boolean): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const steps = isWhole && power <= 1 ? STEPS.filter(Number.isInteger) : STEPS;
  const step = power * (steps.find((step) => step * power >= rough * (1 - 1e-9)) ?? 10);
  return isWhole ? Math.max(1, step) : step;
}

/** Removes the rounding error of a double: 0.30000000000000004 becomes 0.3. */
const withoutNoise = (value: number): number => Number(value.toPrecision(12));

const compact = new Intl.NumberFormat("en", {
  notation: "compact",
  maximumSignificantDigits: 4,
  signDisplay: "negative",
});
const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 2, signDisplay: "negative" });
const small = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

const powerText = (value: number): string => value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");

/** A value as text: `1,234.5`. */
export function valueText(value: number): string {
  const size = Math.abs(value);
  if (size >= POWERS_FROM || (size > 0 && size < 1e-6)) return powerText(value);
  return size > 0 && size < 0.01 ? small.format(value) : plain.format(value);
}

const tickText = (value: number): string =>
  Math.abs(value) >= 10_000 && Math.abs(value) < POWERS_FROM ? compact.format(value) : valueText(value);

/** The ticks as texts: short ones (`25K`, `1.2M`) if these differ. */
export function tickTexts(ticks: number[]): string[] {
  const short = ticks.map(tickText);
  return new Set(short).size === ticks.length ? short : ticks.map(valueText);
}
