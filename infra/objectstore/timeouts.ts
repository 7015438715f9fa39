/** For calls that move no content: a store that has not answered by then will not soon. */
export const METADATA_TIMEOUT_MS = 10_000;
