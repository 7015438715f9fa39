import { type FieldErrors, invalid } from "../problems/problem.ts";
import { readCsv } from "./csv.ts";

/** `Permissions`: a flat list; `Catalog`: groups by category. */
export const IMPORT_MODES = ["Permissions", "Catalog"] as const;
export type ImportMode = typeof IMPORT_MODES[number];

/** One permission as it was found, not yet looked at; `fault` where the row could not be read at all. */
export interface RawRow {
  code?: unknown;
  description?: unknown;
  category?: unknown;
  fault?: string;
}

export const MAX_IMPORT_ROWS = 50_000;
const COLUMNS = ["code", "description", "category"] as const;

/** What an import document or file holds. */
export interface ImportRows {
  /** As asked for, else as the document's form tells. */
  mode: ImportMode;
  rows: RawRow[];
}

/** What is wrong with members of a document, by dotted path. */
export type LookAtMembers = (document: unknown) => FieldErrors;

/**
 * The rows of an import document. Throws VALIDATION_ERROR where its outer shape does not fit the mode.
 * @param lookAtMembers what it says of an item or group fails its rows.
 */
export function rowsOfDocument(
  document: unknown,
  mode: ImportMode | undefined,
  lookAtMembers: LookAtMembers = () => ({}),
): ImportRows {
  const { permissions, catalog } = isObject(document) ? document : {};
  const found = Array.isArray(catalog) && !Array.isArray(permissions) ? "Catalog" : "Permissions";
  const wanted = mode ?? found;
  const list = wanted === "Catalog" ? catalog : permissions;
  const field = wanted === "Catalog" ? "catalog" : "permissions";
  if (!Array.isArray(list)) throw invalid({ [field]: [`expected a list for an import of mode ${wanted}`] });
  if (wanted === "Permissions") {
    requireFewRows(list.length);
    const faults = faultsByPlace(lookAtMembers(document));
    return {
      mode: wanted,
      rows: list.map((item, n) => withFault(rowOfItem(item), faults.get(`permissions.${n}`))),
    };
  }
  requireFewRows(list.reduce((sum, group) => sum + (itemsOf(group)?.length ?? 1), 0));
  const faults = faultsByPlace(lookAtMembers(document));
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

const PLACE = /^(permissions\.\d+|catalog\.\d+(?:\.permissions\.\d+)?)\.(.+)$/s;

/** What is wrong with each item or group; the first of its members speaks for all. */
function faultsByPlace(errors: FieldErrors): ReadonlyMap<string, string> {
  const faults = new Map<string, string>();
  for (const [path, messages] of Object.entries(errors)) {
    const [, place, member] = PLACE.exec(path) ?? [];
    if (place === undefined) throw invalid({ [path]: messages });
    if (!faults.has(place)) faults.set(place, `${member}: ${messages.join("; ")}`);
  }
  return faults;
}

/** The rows of a file: JSON where its name or first character says so, else CSV. Throws VALIDATION_ERROR. */
export function rowsOfFile(
  file: { fileName: string; bytes: Uint8Array<ArrayBuffer> },
  mode: ImportMode | undefined,
  lookAtMembers?: LookAtMembers,
): ImportRows {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(file.bytes);
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
  return rowsOfDocument(document, mode, lookAtMembers);
}

/** The permissions of a group, or null where it is none. */
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

/** CSV with a header that names the columns in any order. In `Catalog` mode an empty category repeats the one above. */
function rowsOfCsv(text: string, mode: ImportMode): RawRow[] {
  const [header, ...records] = readCsv(text, MAX_IMPORT_ROWS + 2); // the header, and one row more than may be
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

/** Called before rows are made of a document: there may be millions, which other requests would wait for. */
function requireFewRows(count: number): void {
  if (count <= MAX_IMPORT_ROWS) return;
  throw invalid({ body: [`expected at most ${MAX_IMPORT_ROWS} permissions in one import`] });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
