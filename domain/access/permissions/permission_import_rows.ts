import { type FieldErrors, invalid } from "../../problems/problem.ts";
import { csvText, LINE_END } from "../../shared/csv_text.ts";
import { decodeInTurns, nextTurn } from "../../shared/in_turns.ts";
import { readCsv } from "./csv.ts";

/** `Permissions`: a flat list; `Catalog`: a list of groups, one per category. */
export const IMPORT_MODES = ["Permissions", "Catalog"] as const;
export type ImportMode = typeof IMPORT_MODES[number];

/** One permission as given, not yet validated; `fault` says why the row could not be read. */
export interface RawRow {
  code?: unknown;
  description?: unknown;
  category?: unknown;
  fault?: string;
}

const MAX_IMPORT_ROWS = 50_000;
const COLUMNS = ["code", "description", "category"] as const;

/** Content of an import document or file. */
export interface ImportRows {
  /** The requested mode, else the one the document has the form of. */
  mode: ImportMode;
  rows: RawRow[];
}

/** Returns the errors of a document's unknown members, by dotted path. */
type ValidateMembers = (document: unknown) => FieldErrors;

/**
 * Returns the rows of an import document. Throws VALIDATION_ERROR if its outer structure does not match the mode.
 * @param validateMembers an error it returns for an item or group fails the rows of that item or group.
 */
export function rowsOfDocument(
  document: unknown,
  mode: ImportMode | undefined,
  validateMembers: ValidateMembers = () => ({}),
): ImportRows {
  const { permissions, catalog } = isObject(document) ? document : {};
  const found = Array.isArray(catalog) && !Array.isArray(permissions) ? "Catalog" : "Permissions";
  const wanted = mode ?? found;
  const list = wanted === "Catalog" ? catalog : permissions;
  const field = wanted === "Catalog" ? "catalog" : "permissions";
  if (!Array.isArray(list)) throw invalid({ [field]: [`expected a list for an import of mode ${wanted}`] });
  if (wanted === "Permissions") {
    requireFewRows(list.length);
    const faults = faultsByPath(validateMembers(document));
    return {
      mode: wanted,
      rows: list.map((item, n) => withFault(rowOfItem(item), faults.get(`permissions.${n}`))),
    };
  }
  requireFewRows(list.reduce((sum, group) => sum + (itemsOf(group)?.length ?? 1), 0));
  const faults = faultsByPath(validateMembers(document));
  return {
    mode: wanted,
    rows: list.flatMap((group, g) =>
      rowsOfGroup(group).map((row, n) =>
        withFault(row, faults.get(`catalog.${g}`) ?? faults.get(`catalog.${g}.permissions.${n}`))
      )
    ),
  };
}

const withFault = (row: RawRow, fault: string | undefined): RawRow =>
  fault === undefined || row.fault !== undefined ? row : { ...row, fault };

const ITEM_PATH = /^(permissions\.\d+|catalog\.\d+(?:\.permissions\.\d+)?)\.(.+)$/s;

/** The first error of each item or group, by its path. */
function faultsByPath(errors: FieldErrors): ReadonlyMap<string, string> {
  const faults = new Map<string, string>();
  for (const [path, messages] of Object.entries(errors)) {
    const [, itemPath, member] = ITEM_PATH.exec(path) ?? [];
    if (itemPath === undefined) throw invalid({ [path]: messages });
    if (!faults.has(itemPath)) faults.set(itemPath, `${member}: ${messages.join("; ")}`);
  }
  return faults;
}

/** Returns the rows of a file: JSON if its name or first character says so, else CSV. Throws VALIDATION_ERROR. */
export async function rowsOfFile(
  file: { fileName: string; bytes: Uint8Array<ArrayBuffer> },
  mode: ImportMode | undefined,
  validateMembers?: ValidateMembers,
): Promise<ImportRows> {
  let text: string;
  try {
    text = await decodeInTurns(file.bytes);
  } catch {
    throw invalid({ file: ["expected UTF-8 text"] });
  }
  const isJson = /\.json$/i.test(file.fileName) || !/\.csv$/i.test(file.fileName) && /^\s*[[{]/.test(text);
  if (!isJson) {
    const csvMode = mode ?? "Permissions";
    return { mode: csvMode, rows: rowsOfCsv(text, csvMode) };
  }
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw invalid({ file: [`expected a JSON document: ${(error as Error).message}`] });
  }
  await nextTurn();
  return rowsOfDocument(document, mode, validateMembers);
}

/** The permissions of a group; null if the value is not a group. */
const itemsOf = (group: unknown): unknown[] | null =>
  isObject(group) && Array.isArray(group.permissions) ? group.permissions : null;

function rowsOfGroup(group: unknown): RawRow[] {
  const items = itemsOf(group);
  if (!items) return [{ fault: "expected a group with a category and a list of permissions" }];
  const { category } = group as { category?: unknown };
  return items.map((item) => ({ ...rowOfItem(item), category }));
}

function rowOfItem(item: unknown): RawRow {
  if (!isObject(item)) return { fault: "expected an object with code, description and category" };
  const { code, description, category } = item;
  return { code, description, category };
}

/** Parses CSV whose header names the columns, in any order. In `Catalog` mode an empty category repeats the last one. */
function rowsOfCsv(text: string, mode: ImportMode): RawRow[] {
  const [header, ...records] = readCsv(text, MAX_IMPORT_ROWS + 2); // the header, and one row above the limit
  const names = (header?.fields ?? []).map((name) => name.trim().toLowerCase());
  for (const required of ["code", "category"]) {
    if (names.filter((name) => name === required).length !== 1) {
      throw invalid({
        file: [
          `expected one column named ${required}, found: ${names.join(", ").slice(0, 200) || "nothing"}`,
        ],
      });
    }
  }
  requireFewRows(records.length);
  const at = Object.fromEntries(COLUMNS.map((column) => [column, names.indexOf(column)]));
  let above: string | undefined;
  return records.map(({ fields, fault }): RawRow => {
    if (fault) return { fault };
    if (fields.length !== names.length) {
      return {
        code: fields[at.code ?? -1],
        fault: `expected ${names.length} fields, found ${fields.length}`,
      };
    }
    const [code, description, category] = COLUMNS.map((column) => fields[at[column] ?? -1]);
    if (mode === "Catalog" && category?.trim()) above = category;
    return { code, description, category: mode === "Catalog" ? above : category };
  });
}

/** Call this before building rows: a document may have millions of items, and other requests wait for the loop. */
function requireFewRows(count: number): void {
  if (count <= MAX_IMPORT_ROWS) return;
  throw invalid({ body: [`expected at most ${MAX_IMPORT_ROWS} permissions in one import`] });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const IMPORT_FORMATS = ["Csv", "Json"] as const;
type ImportFormat = typeof IMPORT_FORMATS[number];

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
