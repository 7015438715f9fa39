import type { ColumnType } from "./columns.ts";

/** Converts an instant from Postgres's UTC text to ISO 8601 with milliseconds: `2026-01-31T12:00:00.000Z`. */
export function isoInstant(cell: string): string {
  const plain = cell.endsWith("+00") ? cell.slice(0, -3) : cell;
  // The values infinity, years BC and years of five digits stay unchanged.
  if (plain.length < 19 || plain[10] !== " " || plain.endsWith("BC")) return plain;
  return `${plain.slice(0, 10)}T${plain.slice(11, 19)}.${plain.slice(20, 23).padEnd(3, "0")}Z`;
}

/** A cell as machine-readable text: booleans as true/false, instants in ISO 8601, other types unchanged. */
export function stableText(cell: string, type: ColumnType): string {
  if (type === "boolean") return cell === "t" ? "true" : "false";
  return type === "instant" ? isoInstant(cell) : cell;
}

export const isNumeric = (type: ColumnType): boolean => type === "integer" || type === "decimal";
