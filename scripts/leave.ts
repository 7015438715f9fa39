// Writes everything that another system needs into a new folder: `deno task leave FOLDER`.
import { join, resolve } from "node:path";
import { transact, type Tx } from "../infra/postgres/postgres.ts";
import { reportSettings } from "../infra/postgres/session_limits.ts";
import { leaveReadme, type WrittenTable } from "./leave/readme.ts";
import { isLeft, writeTable } from "./leave/write_table.ts";
import { EXIT, Failure, runScript, withDatabase } from "./shared/run_script.ts";
import { readTables } from "./tables/declaration.ts";

const HELP = `Usage: DATABASE_URL=postgres://... deno task leave FOLDER

Writes users with the hashes of their passwords, roles, clients, templates, the list of files, jobs, messages, the audit log
and all other data of the service as JSON lines into FOLDER, with a README.md that explains each file. The service may keep
running: all files show one moment. FOLDER must be absent or empty; it appears when everything is written.

Example: deno task leave /exports/steward

Secrets other than the hashes of users are left out. The contents of files stay in the bucket: files.jsonl has their keys.
Exit code 0 when written, 64 for wrong usage, 69 when the database is not usable.`;

async function requireNothingAt(folder: string): Promise<void> {
  const entries = await Array.fromAsync(Deno.readDir(folder)).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return null;
    throw new Failure(EXIT.usage, `${folder} is not a folder: ${error.message}`);
  });
  if (entries === null) return;
  if (entries.length > 0) throw new Failure(EXIT.usage, `${folder} is not empty; expected a new folder`);
  await Deno.remove(folder); // Windows does not rename onto a folder
}

async function writeTables(tx: Tx, folder: string): Promise<WrittenTable[]> {
  await tx.unsafe(
    `set transaction isolation level repeatable read read only; ${reportSettings()}; set local timezone = 'UTC'`,
  );
  const written: WrittenTable[] = [];
  for (const table of (await readTables(tx)).filter(isLeft)) {
    written.push({ ...table, rows: await writeTable(tx, table, join(folder, `${table.name}.jsonl`)) });
  }
  const extensions = await tx<
    { name: string }[]
  >`select distinct extension as name from extension_migrations order by 1`;
  const [{ at = "" } = {}] = await tx<{ at: string }[]>`select to_json(now()) #>> '{}' as at`;
  const readme = leaveReadme(written, { at, extensions: extensions.map(({ name }) => name) });
  await Deno.writeTextFile(join(folder, "README.md"), readme, { mode: 0o600 });
  return written;
}

await runScript({
  help: HELP,
  options: {},
  async run(_values, [given, ...others]) {
    if (!given || others.length > 0) throw new Failure(EXIT.usage, "expected one folder");
    const folder = resolve(given);
    const part = `${folder}.part`;
    await requireNothingAt(folder);
    await Deno.mkdir(part, { mode: 0o700 }).catch((error) => {
      const hint = error instanceof Deno.errors.AlreadyExists
        ? "; delete what an interrupted run has left"
        : "";
      throw new Failure(EXIT.usage, `cannot make the folder ${part}: ${error.message}${hint}`);
    });
    try {
      const written = await withDatabase(
        "leave",
        (sql) => transact(sql, (tx) => writeTables(tx, part)),
      );
      await Deno.rename(part, folder);
      const rows = written.reduce((sum, { rows }) => sum + rows, 0);
      console.log(`wrote ${rows} rows of ${written.length} tables to ${folder}; README.md explains them`);
      return 0;
    } catch (error) {
      await Deno.remove(part, { recursive: true });
      throw error;
    }
  },
});
