import { S3Problem } from "./problem.ts";

/** Bytes `start` to `end`, inclusive. */
export interface Range {
  start: number;
  end: number;
}

/**
 * Parses a Range header for an object of `size` bytes. Returns null for the whole object, also for multiple ranges and
 * for forms that RFC 9110 says to ignore. Throws InvalidRange if no byte is in the range.
 */
export function readRange(header: string | null, size: number): Range | null {
  const [, from, to] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "") ?? [];
  if (from === undefined || to === undefined || (from === "" && to === "")) return null;
  if (from !== "" && to !== "" && Number(to) < Number(from)) return null;
  const start = from === "" ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === "" || to === "" ? size - 1 : Math.min(Number(to), size - 1);
  if (start > end) throw new S3Problem("InvalidRange", undefined, { "content-range": `bytes */${size}` });
  return { start, end };
}
