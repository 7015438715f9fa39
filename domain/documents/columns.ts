/** The type of a column's values: `instant` is a point in time (UTC), `date` a calendar day. */
export type ColumnType = "text" | "integer" | "decimal" | "boolean" | "instant" | "date";

export interface Column {
  title: string;
  type: ColumnType;
  /** Width in characters, for PDF, HTML and sheets; absent: a default per type. */
  width?: number;
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
