import type { ImportMode } from "./permission_import_rows.ts";
import { csvText, LINE_END } from "../../shared/csv_text.ts";

export const IMPORT_FORMATS = ["Csv", "Json"] as const;
export type ImportFormat = typeof IMPORT_FORMATS[number];

/** Example permissions; a new installation can import them unchanged. */
const EXAMPLES = [
  {
    category: "Invoices",
    permissions: [
      { code: "read:invoices", description: "See invoices" },
      { code: "approve:invoices", description: 'Approve invoices, including those marked "urgent"' },
    ],
  },
  {
    category: "Customers",
    permissions: [{ code: "merge:customers", description: "Merge duplicate customers" }],
  },
];

/** Returns an example import file. */
export function importTemplate(
  format: ImportFormat,
  mode: ImportMode,
): { fileName: string; contentType: string; text: string } {
  const flat = EXAMPLES.flatMap(({ category, permissions }) =>
    permissions.map(({ code, description }) => ({ code, description, category }))
  );
  const fileName = `permissions-import-${mode.toLowerCase()}.${format.toLowerCase()}`;
  if (format === "Json") {
    const document = mode === "Catalog" ? { catalog: EXAMPLES } : { permissions: flat };
    return { fileName, contentType: "application/json", text: JSON.stringify(document, null, 2) + "\n" };
  }
  const table = mode === "Catalog"
    ? [["category", "code", "description"], ...catalogLines()]
    : [["code", "description", "category"], ...flat.map((row) => [row.code, row.description, row.category])];
  const text = table.map((cells) => cells.map(csvText).join(",") + LINE_END).join("");
  return { fileName, contentType: "text/csv; charset=utf-8", text };
}

/** One line per permission; only the first line of a group names the category. */
const catalogLines = () =>
  EXAMPLES.flatMap(({ category, permissions }) =>
    permissions.map(({ code, description }, index) => [index === 0 ? category : "", code, description])
  );
