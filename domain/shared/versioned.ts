import type { Problem } from "../problems/problem.ts";

/** What was read, with the version of its row: what its ETag is made from. */
export interface Versioned<T> {
  value: T;
  version: number;
}

/** Takes a row that was read apart into value and version; throws the refusal where there is none. */
export function versioned<T extends { version: number }>(
  row: T | undefined,
  missing: () => Problem,
): Versioned<Omit<T, "version">> {
  if (!row) throw missing();
  const { version, ...value } = row;
  return { value, version };
}
