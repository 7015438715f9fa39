/** A provider's answer. `json` is null if the body is not JSON. */
export interface ProviderAnswer {
  status: number;
  json: unknown;
  /** The Retry-After header in milliseconds; null if absent. */
  retryAfterMs: number | null;
}

/** The provider could not be reached or did not answer in time. The message contains no host name. */
export class ProviderUnreachable extends Error {
  override readonly name = "ProviderUnreachable";
}

const TIMEOUT_MS = 15_000;
const ANSWER_BYTES = 64 * 1024;
/** By default, a longer Retry-After is reduced to this. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/**
 * Sends a POST request to a provider of the configuration, over keep-alive connections. Limits: 15 s in all, 64 KiB of
 * answer. Redirects are not followed, because the request contains credentials.
 * @throws ProviderUnreachable; the reason of `signal` if it aborts the request
 */
export async function callProvider(
  url: string,
  request: { headers: Record<string, string>; body: string | URLSearchParams },
  signal?: AbortSignal,
): Promise<ProviderAnswer> {
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(url, {
      method: "POST",
      redirect: "manual",
      ...request,
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
    });
    // a Retry-After date is relative to the provider's own clock
    const sentAt = Date.parse(response.headers.get("date") ?? "");
    const retryAfterMs = readRetryAfter(response.headers.get("retry-after"), sentAt || Date.now());
    return { status: response.status, json: await readJson(response), retryAfterMs };
  } catch (cause) {
    signal?.throwIfAborted();
    const reason = deadline.aborted ? `did not answer within ${TIMEOUT_MS / 1000} s` : "could not be reached";
    throw new ProviderUnreachable(`the provider ${reason}`, { cause });
  }
}

async function readJson(response: Response): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > ANSWER_BYTES) return null; // leaving the loop cancels the rest
    chunks.push(chunk);
  }
  try {
    return JSON.parse(await new Blob(chunks as BlobPart[]).text());
  } catch {
    return null;
  }
}

/** Parses Retry-After (seconds or an HTTP date) to milliseconds from `now`, at most `maxMs`. */
export function readRetryAfter(
  value: string | null,
  now: number,
  maxMs = MAX_RETRY_AFTER_MS,
): number | null {
  if (value === null || value.trim() === "") return null;
  const ms = /^\s*\d+\s*$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), maxMs);
}

/** Runs `work` for every item, at most `limit` at the same time. After a "stop" it starts no more and awaits the running ones. */
export async function forEachConcurrent<T>(
  items: T[],
  limit: number,
  work: (item: T) => Promise<"stop" | void>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      if (await work(items[next++] as T) === "stop") next = items.length;
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
}
