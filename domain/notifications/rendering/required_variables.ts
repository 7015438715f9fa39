import { ownProperty } from "./values.ts";

/** The names in a comma-separated list, in order, each once; blanks are dropped. Names may be dotted paths. */
export function parseRequiredVariables(list: string | null | undefined): string[] {
  const names = (list ?? "").split(",").map((name) => name.trim()).filter((name) => name !== "");
  return [...new Set(names)];
}

/** Which of the required names the data lacks or holds as null. An empty string is a value. */
export function missingVariables(names: readonly string[], data: Record<string, unknown>): string[] {
  return names.filter((name) => {
    if ((ownProperty(data, name) ?? null) !== null) return false;
    const value = name.split(".").reduce<unknown>((at, part) => ownProperty(at, part), data);
    return value === undefined || value === null;
  });
}
