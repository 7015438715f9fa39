import type { Problem } from "../problems/problem.ts";

/** A read value with the version of its row, for the ETag. */
export interface Versioned<T> {
  value: T;
  version: number;
}

/** Splits a row into value and version. Throws the problem `missing` if there is no row. */
export function versioned<T extends { version: number }>(
  row: T | undefined,
  missing: () => Problem,
): Versioned<Omit<T, "version">> {
  if (!row) throw missing();
  const { version, ...value } = row;
  return { value, version };
}
