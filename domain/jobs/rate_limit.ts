import { createHash } from "node:crypto";
import type { Tx } from "../../infra/postgres/postgres.ts";
import { parseLongNumbers } from "../shared/exact_json.ts";

/** A token bucket: at most `count` jobs start at once, and `count` per `perSeconds` seconds. */
export interface RateLimit {
  count: number;
  perSeconds: number;
  /** Path in the arguments, such as `$.customer.id`: each value there has a bucket of its own. Absent or null: one bucket. */
  key?: string | null;
}

const KEY = /^\$(\.[A-Za-z0-9_-]+)+$/;

/** Checks a rate limit of a declared job type. @throws Error if it is invalid */
export function requireRateLimit(typeName: string, { count, perSeconds, key = null }: RateLimit): void {
  const areNumbers = Number.isInteger(count) && count > 0 && Number.isInteger(perSeconds) && perSeconds > 0;
  if (areNumbers && perSeconds <= 86_400 && (key === null || KEY.test(key))) return;
  throw new Error(
    `job type ${typeName} has an invalid rateLimit: expected a whole count from 1, perSeconds from 1 to 86400, ` +
      "and a key such as $.customer.id",
  );
}

/** The members of a job type that determine the names of its buckets. */
interface Limited {
  name: string;
  rateLimit?: RateLimit;
  remote?: { tenantId: string | null };
}

/** Name of a job's bucket; null if its type has no rate limit. @param serializedArgs JSON */
export function bucketOf(type: Limited | undefined, serializedArgs: string): string | null {
  if (!type?.rateLimit) return null;
  const { key = null } = type.rateLimit;
  const owner = type.remote?.tenantId ? `@${type.remote.tenantId}` : "";
  if (key === null) return `${type.name}${owner}`;
  return `${type.name}${owner}#${hashOf(valueAt(parseLongNumbers(serializedArgs), key.slice("$.".length)))}`;
}

/** The job type of a bucket, and the tenant that declared it; null: the service declared it, or it is for all tenants. */
export function typeOfBucket(bucket: string): { jobTypeName: string; tenantId: string | null } {
  const [named = ""] = bucket.split("#");
  const [jobTypeName = "", tenantId = null] = named.split("@");
  return { jobTypeName, tenantId };
}

/** Makes the buckets of a type due at once, because its rate limit may have changed. */
export async function makeBucketsDue(tx: Tx, typeName: string): Promise<void> {
  const [before, after] = [`${typeName}#`, `${typeName}A`]; // the name is followed by # or @
  await tx`
    update job_buckets set next_at = now()
    where next_at is not null
      and (bucket = ${typeName} or bucket collate "C" >= ${before} and bucket collate "C" < ${after})`;
}

/** The value of the arguments at a path such as `customer.id`; undefined if they have no such member. */
export function valueAt(args: unknown, path: string): unknown {
  let value = args;
  for (const member of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, member)) return undefined;
    value = (value as Record<string, unknown>)[member];
  }
  return value;
}

const hashOf = (value: unknown): string =>
  createHash("sha256").update(JSON.stringify(value) ?? "").digest("hex").slice(0, 32);

/** Number of tokens in a bucket. @param fullInMs time until it is full, in ms */
export function tokensOf({ count, perSeconds }: RateLimit, fullInMs: number): number {
  const missing = Math.min(Math.max(fullInMs, 0), perSeconds * 1000); // `fullInMs` may be larger after the clock was set back
  return Math.floor(count - missing * count / (perSeconds * 1000) + 1e-6);
}

/** Time until the next token if the bucket gives `taken` tokens now, in ms. */
export function nextTokenInMs({ count, perSeconds }: RateLimit, fullInMs: number, taken: number): number {
  const fillMs = perSeconds * 1000;
  const missing = Math.min(Math.max(fullInMs, 0), fillMs);
  return missing + (taken + 1) * fillMs / count - fillMs;
}
