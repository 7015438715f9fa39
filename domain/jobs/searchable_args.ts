// Arguments by whose values jobs can be found. A path is the member names from the root, joined by dots.
import { isExactNumber, parseLongNumbers } from "../shared/exact_json.ts";
import type { JobType } from "./job_type.ts";
import { valueAt } from "./rate_limit.ts";

/** Maximum number of searchable arguments of a type. */
export const MAX_SEARCHABLE = 10;
/** Longer values cannot be searched for. */
export const SEARCH_VALUE_LENGTH = 200;
/** Of a list, this many values can be searched for. */
const MAX_VALUES = 20;
export const MARK = "x-searchable";

type Marked = Pick<JobType, "searchableArgs" | "secretArgs">;

/** `path=value` for each searchable argument of a job; null if it has none. Lists have one for each element. */
export function searchKeysOf(type: Marked | undefined, serializedArgs: string): string[] | null {
  const paths = type ? searchablePaths(type) : [];
  if (paths.length === 0) return null;
  const args = parseLongNumbers(serializedArgs);
  const keys = paths.flatMap((path) =>
    [valueAt(args, path)].flat().slice(0, MAX_VALUES).filter(isSearchable)
      .map((value) => `${path}=${typeof value === "string" ? value : JSON.stringify(value)}`)
  );
  return keys.length === 0 ? null : [...new Set(keys)];
}

function isSearchable(value: unknown): boolean {
  if (typeof value === "number" || typeof value === "boolean" || isExactNumber(value)) return true;
  return typeof value === "string" && value.length <= SEARCH_VALUE_LENGTH && !value.includes("\0") &&
    value.isWellFormed();
}

/** True if the path is, or is within, a secret of the type. */
function isSecret({ secretArgs = [] }: Marked, path: string): boolean {
  const names = path.split(".");
  return secretArgs.some((secret) =>
    secret.path.split(".").every((name, at) => name === "*" || name === names[at])
  );
}

/** The paths that a JSON Schema marks: `x-searchable` is true at a property, or a list of paths at the root. */
export function markedPaths(schema: unknown, at: string[] = []): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { [MARK]: mark, properties } = schema as Record<string, unknown>;
  const own = at.length === 0 && Array.isArray(mark) ? mark.map(String) : [];
  if (at.length > 0 && mark === true) own.push(at.join("."));
  const inside = Object.entries(properties ?? {}).flatMap(([name, member]) =>
    markedPaths(member, [...at, name])
  );
  return [...new Set([...own, ...inside])];
}

/** The arguments by which jobs of the type can be found. */
export const searchablePaths = (type: Marked): string[] =>
  (type.searchableArgs ?? []).filter((path) => !isSecret(type, path));
