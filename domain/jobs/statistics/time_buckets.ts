// Counts of times in buckets whose bounds grow by a tenth. A quantile read from them is exact to 5 %.

import { z } from "zod";

/** Number of times by bucket. Bucket n contains times of up to FLOOR_MS × GROWTH^n. */
export type TimeBuckets = Map<number, number>;

const FLOOR_MS = 0.01;
const GROWTH = 1.1;
const LOG_GROWTH = Math.log(GROWTH);
/** Contains 30 days and everything longer. */
const LAST = 276;

export function countTime(buckets: TimeBuckets, ms: number): void {
  const bucket = ms <= FLOOR_MS ? 0 : Math.min(LAST, Math.ceil(Math.log(ms / FLOOR_MS) / LOG_GROWTH));
  buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1);
}

/** Adds the counts of `from` to `to`. */
export function addBuckets(to: TimeBuckets, from: TimeBuckets): void {
  for (const [bucket, n] of from) to.set(bucket, (to.get(bucket) ?? 0) + n);
}

/** The counts as they are stored: pairs of a bucket and its count. */
export const printBuckets = (buckets: TimeBuckets): string => `{${[...buckets].flat().join(",")}}`;

export function readBuckets(pairs: number[]): TimeBuckets {
  const buckets: TimeBuckets = new Map();
  for (let at = 0; at < pairs.length; at += 2) buckets.set(pairs[at] ?? 0, pairs[at + 1] ?? 0);
  return buckets;
}

/** Quantiles of times, in milliseconds. */
export const Quantiles = z.object({ p50: z.number(), p95: z.number(), p99: z.number() });
export type Quantiles = z.output<typeof Quantiles>;

/** Null if no time was counted. */
export function quantilesOf(buckets: TimeBuckets): Quantiles | null {
  const sorted = [...buckets].sort(([a], [b]) => a - b);
  const total = sorted.reduce((sum, [, n]) => sum + n, 0);
  if (total === 0) return null;
  const quantile = (share: number) => {
    let below = 0;
    const [bucket] = sorted.find(([, n]) => (below += n) >= share * total) ?? [LAST];
    return Math.round(middleOf(bucket) * 1000) / 1000;
  };
  return { p50: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99) };
}

/** The value with the smallest relative distance to all times of the bucket. */
const middleOf = (bucket: number): number => FLOOR_MS * GROWTH ** bucket * 2 / (1 + GROWTH);
