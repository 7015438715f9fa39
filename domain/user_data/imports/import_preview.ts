import { z } from "zod";
import { HIDDEN_HASH, ImportMistake, withoutHashes } from "./columns.ts";
import type { CsvRecord } from "../../access/permissions/csv.ts";
import type { FilePlatform } from "../../files/platform.ts";
import { openFileContent, openOwnContent } from "../../files/service_files.ts";
import { Problem, problem } from "../../problems/problem.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { CsvSplitter, type RawRow, readRows } from "./read_rows.ts";
import { readUserImport } from "./user_import.ts";
import { cutText } from "../../shared/cut_text.ts";

const FIRST_ROWS = 10;
const MAX_FAILURES = 100;
const MAX_CHARACTERS = 200;

const rowNumber = z.int().describe("From 1, without the header");
const errorText = "The errors of a failed row, joined by `; `";

/** The first rows of an import's file, and the outcomes that the import has or would have for them. */
export const ImportPreview = z.object({
  columns: z.array(z.string()).describe("Columns or members of the first rows"),
  rows: z.array(z.object({
    row: rowNumber,
    values: z.record(z.string(), z.string()).describe(
      "By column; password hashes are hidden, long values cut",
    ),
    outcome: z.string().nullable().describe("Created, Updated, Unchanged or Failed, once known"),
    error: z.string().nullable().describe(errorText),
  })).describe("The first ten rows"),
  failures: z.array(z.object({
    row: rowNumber,
    email: z.string().nullable(),
    outcome: z.string(),
    error: z.string().describe(errorText),
  })).describe("The first 100 failed rows"),
  isComplete: z.boolean().describe(
    "The outcomes are known: the import has completed, and its result is there",
  ),
}).meta({ id: "UserImportPreviewDto" });
type ImportPreview = z.output<typeof ImportPreview>;
type RowOutcome = ImportPreview["failures"][number];

/**
 * Shows the first rows of the file of an import and the rows that failed. A dry run thus shows the errors before anything
 * is written. Files that have ended are left out.
 * @throws USER_IMPORT_NOT_FOUND, FORBIDDEN for others than who started the import, without read:files
 */
export async function previewUserImport(
  p: FilePlatform,
  caller: TenantCaller,
  id: string,
): Promise<ImportPreview> {
  const found = await readUserImport(p.sql, caller.tenantId, id);
  if (found.createdBy !== caller.userId && !caller.permissions.has("read:files")) {
    throw problem("FORBIDDEN", "Rows of an import are shown to who started it, and with read:files.");
  }
  const [raw, outcomes] = await Promise.all([
    readFirstRows(p, found.fileId, caller.tenantId),
    found.resultFileId === null ? null : readOutcomes(p, found.resultFileId, found.failed),
  ]);
  const byRow = new Map(outcomes?.first.map((outcome) => [outcome.row, outcome]));
  const rows = raw.map((each, at) => {
    const known = byRow.get(at + 1);
    return {
      row: at + 1,
      values: "values" in each ? shown(each.values) : {},
      outcome: known?.outcome ?? null,
      error: known?.error || ("fault" in each ? withoutHashes(each.fault) : null),
    };
  });
  return {
    columns: [...new Set(rows.flatMap(({ values }) => Object.keys(values)))],
    rows,
    failures: outcomes?.failures ?? [],
    isComplete: outcomes !== null,
  };
}

const shown = (values: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      if (/^password/i.test(name)) return [name, value ? HIDDEN_HASH : ""];
      const text = typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);
      return [withoutHashes(name), cutText(withoutHashes(text), MAX_CHARACTERS)];
    }),
  );

/** The first rows of the imported file; none if the file has ended, or cannot be read as a whole. */
async function readFirstRows(p: FilePlatform, fileId: string, tenantId: string): Promise<RawRow[]> {
  const content = await nullIfEnded(openFileContent(p, fileId));
  const rows: RawRow[] = [];
  if (content === null) return rows;
  try {
    for await (const some of readRows(content, tenantId)) {
      rows.push(...some);
      if (rows.length >= FIRST_ROWS) break;
    }
  } catch (error) {
    if (!(error instanceof ImportMistake)) throw error; // the import itself says what is wrong
  }
  return rows.slice(0, FIRST_ROWS);
}

/** Reads the outcomes of the first rows and the first failures; null if the result was purged. */
async function readOutcomes(
  p: FilePlatform,
  fileId: string,
  failed: number,
): Promise<{ first: RowOutcome[]; failures: RowOutcome[] } | null> {
  const content = await nullIfEnded(openOwnContent(p, fileId));
  if (content === null) return null;
  const first: RowOutcome[] = [];
  const failures: RowOutcome[] = [];
  const wanted = Math.min(failed, MAX_FAILURES);
  for await (const { fields: [row = "", email = "", outcome = "", error = ""] } of recordsOf(content)) {
    if (row === "row") continue; // the header
    const read = { row: Number(row), email: email || null, outcome, error };
    if (read.row <= FIRST_ROWS) first.push(read);
    if (outcome === "Failed") failures.push(read);
    if (read.row >= FIRST_ROWS && failures.length >= wanted) break;
  }
  return { first, failures };
}

async function* recordsOf(content: ReadableStream<Uint8Array>): AsyncGenerator<CsvRecord> {
  const splitter = new CsvSplitter();
  const decoder = new TextDecoder(); // drops the byte order mark
  for await (const bytes of content) yield* splitter.feed(decoder.decode(bytes, { stream: true }));
  yield* splitter.end();
}

/** The content of a file; null if it has ended. */
async function nullIfEnded(
  content: Promise<ReadableStream<Uint8Array>>,
): Promise<ReadableStream<Uint8Array> | null> {
  try {
    return await content;
  } catch (error) {
    if (error instanceof Problem && [404, 409].includes(error.status)) return null;
    throw error;
  }
}
