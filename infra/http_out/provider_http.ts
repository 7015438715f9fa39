/** A provider's answer; `json` is null where the body was none. */
export interface ProviderAnswer {
  status: number;
  json: unknown;
  /** How long the provider asks to be left alone. */
  retryAfterMs: number | null;
}

/** No answer came: the provider could not be reached, or was too slow. Its message names no host. */
export class ProviderUnreachable extends Error {
  override readonly name = "ProviderUnreachable";
}

const WAIT_MS = 15_000;
const ANSWER_BYTES = 64 * 1024;
/** However long a provider asks for, we come back after this. */
const LONGEST_PAUSE_MS = 3_600_000;

/**
 * Asks a provider that the configuration names, over kept-alive connections: 15 s in all, 64 KiB of answer, and no
 * redirect is followed, since the request carries credentials.
 * @throws ProviderUnreachable; the reason of `signal` when that ends the exchange
 */
export async function callProvider(
  url: string,
  request: { headers: Record<string, string>; body: string | URLSearchParams },
  signal?: AbortSignal,
): Promise<ProviderAnswer> {
  const deadline = AbortSignal.timeout(WAIT_MS);
  try {
    const response = await fetch(url, {
      method: "POST",
      redirect: "manual",
      ...request,
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
    });
    const sentAt = Date.parse(response.headers.get("date") ?? ""); // its own clock: only the difference counts
    const retryAfterMs = readRetryAfter(response.headers.get("retry-after"), sentAt || Date.now());
    return { status: response.status, json: await readJson(response), retryAfterMs };
  } catch (cause) {
    signal?.throwIfAborted();
    const reason = deadline.aborted ? `did not answer within ${WAIT_MS / 1000} s` : "could not be reached";
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

/** Reads Retry-After, seconds or an HTTP date, as milliseconds from now, an hour at most. */
export function readRetryAfter(value: string | null, now: number): number | null {
  if (value === null || value.trim() === "") return null;
  const ms = /^\s*\d+\s*$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), LONGEST_PAUSE_MS);
}

/** Runs `work` for every item, at most `limit` at once, until one run says "stop"; those under way still end. */
export async function forEachConcurrent<T>(
  items: T[],
  limit: number,
  work: (item: T) => Promise<"stop" | void>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      if (await work(items[next++] as T) === "stop") next = items.length;
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane));
}
