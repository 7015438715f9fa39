/** The type of a column's values: `instant` is a point in time (UTC), `date` a calendar day. */
export type ColumnType = "text" | "integer" | "decimal" | "boolean" | "instant" | "date";

export interface Column {
  title: string;
  type: ColumnType;
  /** Width in characters, for PDF, HTML and sheets; absent: a default per type. */
  width?: number;
  /**
   * Left out of PDF and HTML, whose pages are narrow: always, or only where all rows are of one tenant. Excel and CSV have
   * every column.
   */
  detail?: "always" | "one tenant";
}

const columnOf = (type: ColumnType) => (title: string, width?: number): Column => ({
  title,
  type,
  ...(width ? { width } : {}),
});
export const text = columnOf("text");
export const integer = columnOf("integer");
export const decimal = columnOf("decimal");
export const boolean = columnOf("boolean");
export const instant = columnOf("instant");
export const date = columnOf("date");
/** A column that only Excel and CSV have. */
export const detail = (column: Column): Column => ({ ...column, detail: "always" });
/** The name of the tenant of a row; PDF and HTML have it if the report has rows of several tenants. */
export const tenantName = (): Column => ({ ...text("Tenant", 24), detail: "one tenant" });

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
