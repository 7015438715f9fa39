/**
 * Waits for `work` for at most `ms` milliseconds, or until `signal` aborts. `work` itself is not stopped.
 * @throws `late()` after the timeout, the signal's reason if it aborts, or the error of `work`
 */
export async function withTimeout<T>(
  ms: number,
  work: Promise<T>,
  late: () => Error,
  signal?: AbortSignal,
): Promise<T> {
  const stop = Promise.withResolvers<never>();
  const timer = setTimeout(() => stop.reject(late()), Math.max(0, ms));
  const aborted = () => stop.reject(signal?.reason);
  if (signal?.aborted) aborted();
  signal?.addEventListener("abort", aborted, { once: true });
  try {
    return await Promise.race([stop.promise, work]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", aborted);
  }
}

/**
 * Waits for `work` for at most `ms` milliseconds. Returns its result, or null if it has not ended by then.
 * @throws the error of `work`, if it comes in time
 */
export async function waitAtMost<T>(ms: number, work: PromiseLike<T>): Promise<T | null> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), ms);
  return await Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}
