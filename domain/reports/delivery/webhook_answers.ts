/** Client errors that are temporary: Request Timeout, Too Early, Too Many Requests. */
const TEMPORARY_REFUSALS: ReadonlySet<number> = new Set([408, 425, 429]);

/** True if this HTTP status of a receiver means that a later attempt may succeed. */
export const isTemporaryRefusal = (status: number): boolean =>
  status >= 500 || TEMPORARY_REFUSALS.has(status);
