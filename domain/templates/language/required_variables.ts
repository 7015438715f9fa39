import { ownProperty } from "./values/values.ts";

/** The names in a comma-separated list, in order, without duplicates and blanks. Names may be dotted paths. */
export function parseRequiredVariables(list: string | null | undefined): string[] {
  const names = (list ?? "").split(",").map((name) => name.trim()).filter((name) => name !== "");
  return [...new Set(names)];
}

/** The required names that are missing or null in the data. An empty string counts as a value. */
export function missingVariables(names: readonly string[], data: Record<string, unknown>): string[] {
  return names.filter((name) => {
    if ((ownProperty(data, name) ?? null) !== null) return false;
    const value = name.split(".").reduce<unknown>((at, part) => ownProperty(at, part), data);
    return value === undefined || value === null;
  });
}
