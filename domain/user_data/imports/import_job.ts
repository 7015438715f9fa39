import { PostgresError } from "../../../infra/postgres/failures.ts";
import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { checkRow, ImportMistake, ImportSuperseded, withoutHashes } from "./columns.ts";
import type { BulkRow, Importer, RowResult } from "../../access/users/bulk/find_existing.ts";
import { importUsers, permissionsLeft } from "../../access/users/bulk/import_users.ts";
import type { FilePlatform } from "../../files/platform.ts";
import { openFileContent } from "../../files/service_files.ts";
import { defineJob, type JobContext } from "../../jobs/job_type.ts";
import { isLastFailure } from "../../jobs/outage.ts";
import { Problem } from "../../problems/problem.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import { finishImport, importActor, type ImportEnding, storeResult } from "./result_file.ts";
import { beginImport, IMPORT_JOB, lockImportAt, mayImport, type RunningImport } from "./user_import.ts";
import { type RawRow, readRows } from "./read_rows.ts";
import { mailKey } from "../../../infra/mail/mail_address.ts";

const BATCH = 2_000;
const ATTEMPTS = 3;

type ImportPlatform = FilePlatform & RightsPlatform;
type Context = JobContext<ImportPlatform>;

/**
 * Imports the users of a file. One transaction writes the users of a batch, its results and the position in the file. So a
 * run after a crash continues where the last one ended, and no row counts twice.
 */
export const importUsersJob = defineJob({
  ...IMPORT_JOB,
  async run({ importId }, context: Context) {
    const begun = await beginImport(context.db, importId, context.jobId);
    if (!begun) return { finished: false };
    try {
      return await runImport(begun, context);
    } catch (error) {
      if (error instanceof ImportSuperseded) return { finished: false };
      if (error instanceof ImportMistake || error instanceof Problem) {
        await finish(context, begun, { status: "Failed", error: error.message });
        return { finished: true, status: "Failed" };
      }
      if (!isLastFailure(context, error)) throw error;
      const reason = "The import stopped; the service's log has the reason under its trace id.";
      await finish(context, begun, { status: "Failed", error: reason });
      throw error;
    }
  },
});

const finish = ({ platform }: Context, o: RunningImport, ending: ImportEnding): Promise<void> =>
  transact(platform.sql, (tx) => finishImport(tx, o, ending));

async function runImport(begun: RunningImport, context: Context): Promise<unknown> {
  const { platform } = context;
  await importerOf(platform.sql, begun);
  const total = begun.total ?? await countRows(begun, context);
  const from = begun.isDryRun ? await restart(begun, context) : begun.position;
  await importRows(begun, { total, from }, context);
  const resultFileId = await storeResult(platform, begun);
  await finish(context, begun, { status: "Completed", resultFileId });
  return { finished: true, status: "Completed", total };
}

/** Reads the importer with their current permissions. @throws ImportMistake if they may not import */
async function importerOf(q: Sql, o: RunningImport): Promise<Importer> {
  const { createdBy: userId, tenantId } = o;
  const permissions = await permissionsLeft(q, { ...o, userId });
  if (!mayImport(permissions, tenantId)) {
    throw new ImportMistake("who started the import may no longer import users");
  }
  return { ...importActor(o), permissions };
}

/** Counts the rows. Reads the whole file, so that nothing is imported from a file that cannot be read to its end. */
async function countRows(o: RunningImport, { platform, db, signal }: Context): Promise<number> {
  let total = 0;
  for await (const rows of readRows(await openFileContent(platform, o.fileId), o.tenantId)) {
    signal.throwIfAborted();
    total += rows.length;
  }
  await db`update user_imports set total = ${total} where id = ${o.id} and status = 'Running'`;
  return total;
}

/** Starts a dry run from the first row: only the run itself knows which users its earlier batches would have written. */
async function restart(o: RunningImport, { db }: Context): Promise<number> {
  await transact(db, async (tx) => {
    await tx`update user_imports set position = 0, created = 0, updated = 0, unchanged = 0, failed = 0
      where id = ${o.id} and status = 'Running'`;
    await tx`delete from user_import_rows where import_id = ${o.id}`;
  });
  return 0;
}

/** Rows of one transaction: users to import, and rows that failed already. */
interface Batch {
  users: BulkRow[];
  failed: RowResult[];
}

async function importRows(
  o: RunningImport,
  { total, from }: { total: number; from: number },
  context: Context,
): Promise<void> {
  const { platform, signal } = context;
  const seen = new Map<string, number>();
  let linked = new Map<string, number>();
  let position = from;
  let batch: Batch = { users: [], failed: [] };
  let row = 0;
  const write = async () => {
    signal.throwIfAborted();
    const dry = o.isDryRun ? linked : null;
    linked = await writeBatch(platform, o, { batch, position, dry });
    position += batch.users.length + batch.failed.length;
    batch = { users: [], failed: [] };
    context.progress(Math.floor(position / Math.max(1, total) * 100), `${position} of ${total} rows`);
  };
  for await (const rows of readRows(await openFileContent(platform, o.fileId), o.tenantId)) {
    for (const raw of rows) {
      const checked = checkOnce(++row, raw, o.tenantId, seen);
      if (row <= from) continue;
      if ("outcome" in checked) batch.failed.push(checked);
      else batch.users.push(checked);
      if (batch.users.length + batch.failed.length >= BATCH) await write();
    }
  }
  if (batch.users.length + batch.failed.length > 0) await write();
}

/** Checks a row. An earlier row of the file must not have the same email or external id in the tenant. */
function checkOnce(
  row: number,
  raw: RawRow,
  tenantId: string | null,
  seen: Map<string, number>,
): BulkRow | RowResult {
  const fail = (email: string | null, errors: string[]): RowResult => ({
    row,
    email,
    outcome: "Failed",
    errors,
  });
  if ("fault" in raw) return fail(null, [raw.fault]);
  const checked = checkRow(row, raw.values, tenantId);
  if ("errors" in checked) return fail(checked.email, checked.errors);
  const { user } = checked;
  const keys = [
    ...user.email === undefined ? [] : [`email ${mailKey(user.email)}`],
    ...user.externalId === undefined ? [] : [`externalId ${user.externalId}`],
  ].map((key) => `${key} ${user.tenant.toLowerCase()}`);
  for (const key of keys) {
    const earlier = seen.get(key);
    if (earlier !== undefined) {
      return fail(user.email ?? null, [
        `${key.split(" ")[0]}: row ${earlier} of the file has the same one`,
      ]);
    }
  }
  for (const key of keys) seen.set(key, row);
  return user;
}

interface BatchInput {
  batch: Batch;
  position: number;
  dry: Map<string, number> | null;
}

/** Writes a batch. Repeats it if a concurrent request has taken an external id. */
async function writeBatch(
  p: ImportPlatform,
  o: RunningImport,
  input: BatchInput,
): Promise<Map<string, number>> {
  for (let attempt = 1;; attempt++) {
    try {
      return await tryBatch(p, o, input);
    } catch (error) {
      const isTaken = error instanceof PostgresError && error.code === "23505";
      if (!isTaken || attempt === ATTEMPTS) throw withoutValues(error);
    }
  }
}

/** Removes the quoted row from an error of the database, because rows have personal data and password hashes. */
function withoutValues(error: unknown): unknown {
  if (!(error instanceof PostgresError)) return error;
  error.detail = "";
  error.where = "";
  return error;
}

/** Hides password hashes in a result: its errors quote values of the row, and a hash may be in a wrong column. */
const hidingHashes = ({ email, errors, ...result }: RowResult): RowResult => ({
  ...result,
  email: email && withoutHashes(email),
  errors: errors.map(withoutHashes),
});

async function tryBatch(
  p: ImportPlatform,
  o: RunningImport,
  { batch, position, dry }: BatchInput,
): Promise<Map<string, number>> {
  return await transact(p.sql, async (tx) => {
    if (!await lockImportAt(tx, o.id, position)) throw new ImportSuperseded("another run has gone on");
    const importer = await importerOf(tx, o);
    const linked = new Map(dry);
    const imported = await importUsers(p, tx, importer, batch.users, dry && linked);
    const results = [...batch.failed, ...imported].map(hidingHashes);
    const counted = (outcome: RowResult["outcome"]) => results.filter((r) => r.outcome === outcome).length;
    await tx`update user_imports set position = position + ${results.length},
      created = created + ${counted("Created")}, updated = updated + ${counted("Updated")},
      unchanged = unchanged + ${counted("Unchanged")}, failed = failed + ${counted("Failed")}
      where id = ${o.id}`;
    await tx`insert into user_import_rows (import_id, row, email, outcome, errors)
      select ${o.id}, row, email, outcome, array(select jsonb_array_elements_text(errors))
      from json_to_recordset(${JSON.stringify(results)}::text::json)
        as x (row integer, email text, outcome text, errors jsonb)`;
    return linked;
  });
}
