// Imports permissions directly into the database: `deno task import-permissions FILE`.
import { basename } from "node:path";
import { parseArgs } from "node:util";
import { importPermissions, type ImportResult } from "../domain/access/permissions/permission_import.ts";
import {
  IMPORT_MODES,
  type ImportMode,
  type ImportRows,
  rowsOfFile,
} from "../domain/access/permissions/permission_import_rows.ts";
import type { PermissionOwner } from "../domain/access/permissions/permission_codes.ts";
import { Problem } from "../domain/problems/problem.ts";
import type { Sql } from "../infra/postgres/postgres.ts";
import { EXIT, Failure, runScript, UUID, withDatabase } from "./shared/run_script.ts";

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

interface Options {
  file: string;
  owner: PermissionOwner;
  mode: ImportMode | undefined;
  upsert: boolean;
  dryRun: boolean;
  json: boolean;
}

function readOptions(args: string[]): Options | null {
  let parsed;
  try {
    parsed = parseArgs({
      args,
      allowPositionals: true,
      options: {
        tenant: { type: "string" },
        mode: { type: "string" },
        upsert: { type: "boolean", default: false },
        "dry-run": { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    throw new Failure(EXIT.usage, (error as Error).message);
  }
  const { values, positionals } = parsed;
  if (values.help) return null;
  const [file] = positionals;
  if (!file || positionals.length > 1) {
    throw new Failure(EXIT.usage, `expected one file, found ${positionals.length}`);
  }
  const mode = IMPORT_MODES.find((name) => name.toLowerCase() === values.mode?.toLowerCase());
  if (values.mode !== undefined && !mode) {
    throw new Failure(EXIT.usage, `--mode is "${values.mode}"; expected ${IMPORT_MODES.join(" or ")}`);
  }
  if (values.tenant !== undefined && !UUID.test(values.tenant)) {
    throw new Failure(EXIT.usage, `--tenant is "${values.tenant}"; expected a tenant's id`);
  }
  return {
    file,
    owner: values.tenant ?? null,
    mode,
    upsert: values.upsert,
    dryRun: values["dry-run"],
    json: values.json,
  };
}

async function readRows({ file, mode }: Options): Promise<ImportRows> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = await Deno.readFile(file);
  } catch (error) {
    throw new Failure(EXIT.noInput, `cannot read ${file}: ${(error as Error).message}`);
  }
  try {
    return rowsOfFile({ fileName: basename(file), bytes }, mode);
  } catch (error) {
    if (error instanceof Problem) throw new Failure(INVALID_DATA, error.message);
    throw error;
  }
}

async function runImport(sql: Sql, document: ImportRows, o: Options): Promise<ImportResult> {
  if (o.owner !== null) {
    const found = await sql`select from tenants where id = ${o.owner} and deleted_at is null`;
    if (found.length === 0) throw new Failure(EXIT.usage, `there is no tenant ${o.owner}`);
  }
  return await importPermissions({ sql }, null, o.owner, document, { upsert: o.upsert, dryRun: o.dryRun });
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

async function main(args: string[]): Promise<number> {
  const options = readOptions(args);
  if (!options) {
    console.log(HELP);
    return 0;
  }
  const document = await readRows(options);
  const result = await withDatabase("import-permissions", (sql) => runImport(sql, document, options));
  report(result, options.json);
  return result.failed > 0 ? EXIT.refused : 0;
}

await runScript(HELP, () => main(Deno.args));
