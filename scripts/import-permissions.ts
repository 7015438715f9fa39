// Imports permissions directly into the database: `deno task import-permissions FILE`.
import { basename } from "node:path";
import { importPermissions, type ImportResult } from "../domain/access/permissions/permission_import.ts";
import {
  IMPORT_MODES,
  type ImportMode,
  type ImportRows,
  rowsOfFile,
} from "../domain/access/permissions/permission_import_rows.ts";
import { Problem } from "../domain/problems/problem.ts";
import type { Sql } from "../infra/postgres/postgres.ts";
import { parseChoice, parseTenant } from "./shared/option_values.ts";
import { EXIT, Failure, runScript, withDatabase } from "./shared/run_script.ts";

const HELP = `Usage: DATABASE_URL=postgres://... deno task import-permissions FILE [options]

Imports permissions from a CSV or JSON file into the catalog, or into a tenant with --tenant. Rows that are not valid are
listed and skipped; the others are imported.
  --tenant ID     import into this tenant
  --mode MODE     Permissions (a flat list) or Catalog (groups); absent: detected from the file
  --upsert        update permissions whose code already exists
  --dry-run       show the result without writing
  --json          print the whole result as JSON
  -h, --help      this text

Example: deno task import-permissions permissions.csv --upsert --dry-run

Exit code 0 when every row is valid, 1 when some failed, 64 for wrong usage, 65 when the file as a whole is not valid,
66 when it cannot be read, 69 when the database is not usable.`;

/** EX_DATAERR of sysexits. */
const INVALID_DATA = 65;

async function readRows(file: string, mode: ImportMode | undefined): Promise<ImportRows> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = await Deno.readFile(file);
  } catch (error) {
    throw new Failure(EXIT.noInput, `cannot read ${file}: ${(error as Error).message}`);
  }
  try {
    return await rowsOfFile({ fileName: basename(file), bytes }, mode);
  } catch (error) {
    if (error instanceof Problem) throw new Failure(INVALID_DATA, error.message);
    throw error;
  }
}

async function requireTenant(sql: Sql, tenantId: string): Promise<void> {
  const found = await sql`select from tenants where id = ${tenantId} and deleted_at is null`;
  if (found.length === 0) throw new Failure(EXIT.usage, `there is no tenant ${tenantId}`);
}

function report(result: ImportResult, json: boolean): void {
  if (json) return console.log(JSON.stringify(result, null, 2));
  for (const { row, code, errors } of result.rows.filter((row) => row.outcome === "Failed")) {
    console.error(`row ${row} ${JSON.stringify(code ?? "")}: ${errors.join("; ")}`);
  }
  const { total, created, updated, unchanged, failed, dryRun } = result;
  console.log(
    `${dryRun ? "dry run, nothing written: " : ""}${total} rows: ${created} created, ${updated} updated, ` +
      `${unchanged} unchanged, ${failed} failed`,
  );
}

await runScript({
  help: HELP,
  options: {
    tenant: { type: "string" },
    mode: { type: "string" },
    upsert: { type: "boolean", default: false },
    "dry-run": { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
  async run({ tenant, mode, upsert, "dry-run": dryRun, json }, [file, ...others]) {
    if (!file || others.length > 0) {
      throw new Failure(EXIT.usage, `expected one file, found ${file ? 1 + others.length : 0}`);
    }
    const owner = parseTenant(tenant) ?? null;
    const chosenMode = mode === undefined ? undefined : parseChoice("--mode", mode, IMPORT_MODES);
    const document = await readRows(file, chosenMode);
    const result = await withDatabase("import-permissions", async (sql) => {
      if (owner) await requireTenant(sql, owner);
      return await importPermissions({ sql }, null, owner, document, { upsert, dryRun });
    });
    report(result, json);
    return result.failed > 0 ? EXIT.refused : 0;
  },
});
