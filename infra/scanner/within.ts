/**
 * Waits for `work`, at most `ms` milliseconds and only until `signal` aborts.
 * Throws `late()` when time is up, the signal's reason when it aborts, else whatever `work` throws. It does not stop the work.
 */
export async function within<T>(
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
