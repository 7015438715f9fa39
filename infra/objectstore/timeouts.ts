/** Timeout of calls that transfer no content. */
export const METADATA_TIMEOUT_MS = 10_000;
