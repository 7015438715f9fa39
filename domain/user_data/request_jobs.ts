import { DAY_MS } from "../../infra/clock.ts";
import { z } from "zod";
import { connectPostgres, type Pool, type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { addressesOf, eraseMember } from "../access/users/user_erase.ts";
import { usersOnlyIn } from "../access/tenants/tenant_changes.ts";
import { purgeErased } from "../files/personal_data.ts";
import { JOB_REASONS } from "../files/purge_reasons.ts";
import { defineJob, type JobContext } from "../jobs/job_type.ts";
import type { DataSubject, ErasedPersons, Exports } from "../shared/personal_data.ts";
import {
  completeRequest,
  type DataRequestRow,
  endExports,
  failRequest,
  findOpenErasures,
  insertUserErasure,
  readRequestRow,
  startRequest,
  writeStep,
} from "./data_request.ts";
import { areasOf, type UserDataPlatform } from "./platform.ts";
import { type ZipPart, zipStream } from "../../infra/zip_stream.ts";
import { EXPORT_CONTENT_TYPE, EXPORT_PROFILE } from "../files/profiles.ts";
import { storeServiceFile } from "../files/service_files.ts";
import { isLastFailure } from "../jobs/outage.ts";
import { type JobEnd, readJobEnds } from "../jobs/job_row.ts";
import { type Batch, type BatchResult, maintenanceJob, positionAfter } from "../jobs/maintenance.ts";
import { FIRST_ID, firstIdOf, timeOfId } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";
import { type EndingImport, finishImport } from "./imports/result_file.ts";

/** One pass over the tables serves this many users of an erased tenant. */
const USERS_AT_ONCE = 50;

/** Erases the data that areas keep about a user or a tenant. Each step may run again after a crash. */
export const eraseDataJob = defineJob({
  name: "steward.erase-data",
  args: z.object({ requestId: z.guid() }),
  timeoutMs: 6 * 60 * 60_000,
  maxRetries: 10,
  concurrency: 2,
  isConcurrencySoft: true,
  async run({ requestId }, context: JobContext<UserDataPlatform>) {
    const { platform: p, db, signal } = context;
    const message = "The erasure failed; the job's executions show why. Ask again to continue.";
    const erased = await runRequest(context, requestId, message, async (request) => {
      if (request.kind === "UserErasure") await eraseUser(p, request, signal);
      else await eraseTenant(p, request, signal);
      await completeRequest(db, requestId, null);
      return true;
    });
    return { erased: erased ?? false };
  },
});

async function eraseUser(p: UserDataPlatform, request: DataRequestRow, signal: AbortSignal): Promise<void> {
  if (request.userId === null) return;
  await erasePersons(p, request.id, [{ ...request, userId: request.userId }], signal);
}

/** Time after the id of an erasure in which its transaction writes its other rows, which may have the person's addresses. */
const BEGINS_WITHIN_MS = 1_000;

/** @param erasures of users, begun together */
async function erasePersons(
  p: UserDataPlatform,
  requestId: string,
  erasures: { id: string; userId: string; addresses: string[] | null }[],
  signal: AbortSignal,
): Promise<void> {
  const begun = Math.max(...erasures.map(({ id }) => timeOfId(id).getTime()));
  const persons: ErasedPersons = {
    userIds: erasures.map(({ userId }) => userId),
    addresses: erasures.flatMap(({ addresses }) => addresses ?? []),
    beforeId: firstIdOf(new Date(begun + BEGINS_WITHIN_MS)),
  };
  for (const area of areasOf(p)) {
    signal.throwIfAborted();
    await writeStep(p.sql, requestId, area.area);
    await area.eraseUsers?.(p, persons);
  }
  const exported = await p.sql<{ fileId: string }[]>`
    select file_id from data_requests where user_id = any(${persons.userIds}::uuid[]) and file_id is not null`;
  await purgeErased(p, exported.map(({ fileId }) => fileId), JOB_REASONS.dataErased);
}

/** Users who belong only to the tenant go first: their rows in other places are found by their addresses. */
async function eraseTenant(p: UserDataPlatform, request: DataRequestRow, signal: AbortSignal): Promise<void> {
  const { id, tenantId } = request;
  if (tenantId === null) return;
  for (;;) {
    signal.throwIfAborted();
    const begun = await beginMembers(p, request, tenantId);
    const open = await findOpenErasures(p.sql, id, USERS_AT_ONCE);
    if (begun === 0 && open.length === 0) break;
    if (open.length > 0) await erasePersons(p, id, open, signal);
    for (const erasure of open) await completeRequest(p.sql, erasure.id, null);
  }
  for (const area of areasOf(p)) {
    signal.throwIfAborted();
    await writeStep(p.sql, id, area.area);
    await area.eraseTenant?.(p, tenantId);
  }
  const exported = await p.sql<{ fileId: string }[]>`
    select file_id from data_requests where tenant_id = ${tenantId} and kind = 'TenantExport' and file_id is not null`;
  await purgeErased(p, exported.map(({ fileId }) => fileId), JOB_REASONS.tenantErased);
}

/** Anonymizes the next members and inserts an erasure for each in the same transaction, so that a crash loses none. */
async function beginMembers(p: UserDataPlatform, request: DataRequestRow, tenantId: string): Promise<number> {
  const userIds = await usersOnlyIn(p.sql, tenantId, USERS_AT_ONCE);
  await transact(p.sql, async (tx) => {
    const erased: string[] = [];
    for (const userId of userIds) {
      const person = await eraseMember(p, tx, userId, { tenantId, actorId: request.requestedBy });
      if (!person) continue;
      await insertUserErasure(tx, request, person);
      erased.push(userId);
    }
    await endExports(tx, { userIds: erased });
  });
  return userIds.length;
}

const ROWS_AT_ONCE = 500;
/** Days until the file of an export is purged. */
const EXPORT_DAYS = 7;

/**
 * Writes an export: a ZIP with one file of JSON lines for each kind of rows. Rows go from cursors to the object store, so
 * memory stays flat. An attempt after a crash writes a new file; the sweep purges the unfinished one. An export that an
 * erasure has ended purges its file.
 */
export const exportDataJob = defineJob({
  name: "steward.export-data",
  args: z.object({ requestId: z.guid() }),
  timeoutMs: 2 * 60 * 60_000,
  maxRetries: 3,
  concurrency: 2,
  isConcurrencySoft: true,
  async run({ requestId }, context: JobContext<UserDataPlatform>) {
    const { platform: p, signal } = context;
    const message = "The export failed; the job's executions show why.";
    const stored = await runRequest(context, requestId, message, async (request) => {
      try {
        return await writeExport(p, request, signal);
      } catch (error) {
        if (!(error instanceof ExportEnded)) throw error;
        await purgeErased(p, [error.fileId], JOB_REASONS.dataErased);
        return null;
      }
    });
    return stored
      ? { exported: true, fileId: stored.fileId, sizeBytes: stored.sizeBytes }
      : { exported: false };
  },
});

/** Thrown when the file of an export is written, but an erasure has ended the export. */
class ExportEnded extends Error {
  constructor(readonly fileId: string) {
    super("the export has ended");
  }
}

/** Writes the file and completes the request. @throws ExportEnded */
async function writeExport(p: UserDataPlatform, request: DataRequestRow, signal: AbortSignal) {
  const reader = connectPostgres(p.config.DATABASE_URL ?? "", { max: 1, work: "report", idleSeconds: 5 });
  try {
    const files = request.kind === "UserExport"
      ? userFiles(p, reader, request, signal)
      : tenantFiles(p, reader, request, signal);
    const name = request.kind === "UserExport" ? "user" : "tenant";
    return await storeServiceFile(
      p,
      {
        tenantId: request.contextTenantId,
        profile: EXPORT_PROFILE,
        fileName: `${name}-export-${request.userId ?? request.tenantId}.zip`,
        contentType: EXPORT_CONTENT_TYPE,
        createdBy: request.requestedBy,
        keepUntil: new Date(p.clock.now().getTime() + EXPORT_DAYS * DAY_MS),
      },
      ReadableStream.from(zipStream(files)),
      async (tx, fileId) => {
        if (!await completeRequest(tx, request.id, fileId)) throw new ExportEnded(fileId);
      },
    );
  } finally {
    await reader.end({ timeout: 5 });
  }
}

async function* userFiles(p: UserDataPlatform, reader: Pool, request: DataRequestRow, signal: AbortSignal) {
  const { userId, tenantId } = request;
  if (userId === null) return;
  const addresses = await addressesOf(reader, userId);
  for (const { area, user } of areasOf(p)) {
    await writeStep(p.sql, request.id, area);
    yield* filesOf<DataSubject>(reader, area, user, { userId, addresses, tenantId }, signal);
  }
}

async function* tenantFiles(p: UserDataPlatform, reader: Pool, request: DataRequestRow, signal: AbortSignal) {
  if (request.tenantId === null) return;
  for (const { area, tenant } of areasOf(p)) {
    await writeStep(p.sql, request.id, area);
    yield* filesOf<string>(reader, area, tenant, request.tenantId, signal);
  }
}

function* filesOf<Of>(
  reader: Pool,
  area: string,
  exports: Exports<Of> | undefined,
  of: Of,
  signal: AbortSignal,
): Generator<ZipPart> {
  for (const [name, query] of Object.entries(exports ?? {})) {
    yield { path: `${area}/${name}.jsonl`, content: jsonLines(query(reader, of), signal) };
  }
}

async function* jsonLines(query: ReturnType<Exports<unknown>[string]>, signal: AbortSignal) {
  const encoder = new TextEncoder();
  for await (const rows of query.cursor(ROWS_AT_ONCE)) {
    signal.throwIfAborted();
    yield encoder.encode(rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  }
}

/**
 * Runs the work of a request that has not ended. The request fails when its job fails for the last time.
 * @param message the error message of a failed request
 * @returns null if the request has ended already
 */
async function runRequest<T>(
  context: JobContext<UserDataPlatform>,
  requestId: string,
  message: string,
  work: (request: DataRequestRow) => Promise<T>,
): Promise<T | null> {
  const { db, jobId } = context;
  const request = await readRequestRow(db, requestId);
  if (!request || !await startRequest(db, requestId, jobId)) return null;
  try {
    return await work(request);
  } catch (error) {
    if (isLastFailure(context, error)) await failRequest(db, requestId, message);
    throw error;
  }
}

const BATCH = 500;

/**
 * Ends imports, exports and erasures whose job has ended without ending them: it was cancelled through the job routes, or
 * dead-lettered after its worker died or its time was over.
 */
export const sweepUserDataJob = maintenanceJob<UserDataPlatform>({
  name: "steward.sweep-user-data",
  cron: "* * * * *",
  works: {
    imports: { limit: BATCH, run: failAbandonedImports },
    requests: { limit: BATCH, run: failAbandonedRequests },
  },
});

interface Open {
  id: string;
  jobId: string;
}

/** Reads a page of the open rows of a table and calls `fail` for those whose job has ended; it returns whether it did. */
async function failAbandoned(
  q: Sql,
  table: "user_imports" | "data_requests",
  { limit, after }: Batch,
  fail: (row: Open, end: JobEnd) => Promise<boolean>,
): Promise<BatchResult> {
  const open = await q<Open[]>`select id, job_id from ${q(table)}
    where status in ('Queued', 'Running') and job_id is not null and id > ${after ?? FIRST_ID}
    order by id limit ${limit}`;
  const ends = await readJobEnds(q, open.map(({ jobId }) => jobId));
  let rows = 0;
  for (const row of open) {
    const end = ends.get(row.jobId);
    if (end && await fail(row, end)) rows++;
  }
  return { rows, after: positionAfter(open, limit) };
}

function failAbandonedImports({ sql }: Pick<Platform, "sql">, batch: Batch): Promise<BatchResult> {
  const fail = (row: Open, end: JobEnd) => transact(sql, (tx) => failImport(tx, row, end));
  return failAbandoned(sql, "user_imports", batch, fail);
}

async function failImport(tx: Tx, { id, jobId }: Open, end: JobEnd): Promise<boolean> {
  const [abandoned] = await tx<EndingImport[]>`
    select id, created_by, api_key_id, acted_by, tenant_id, trace_id
    from user_imports where id = ${id} and job_id = ${jobId} and status in ('Queued', 'Running') for update`;
  if (!abandoned) return false;
  await finishImport(tx, abandoned, { status: "Failed", error: `The import ended early: ${reasonOf(end)}.` });
  return true;
}

function failAbandonedRequests({ sql }: Pick<Platform, "sql">, batch: Batch): Promise<BatchResult> {
  return failAbandoned(sql, "data_requests", batch, async ({ id, jobId }, end) => {
    const { count } = await sql`update data_requests set status = 'Failed', completed_at = now(),
        error_message = ${`It ended early: ${reasonOf(end)}. Ask again.`}
      where id = ${id} and job_id = ${jobId} and status in ('Queued', 'Running')`;
    return count > 0;
  });
}

const reasonOf = ({ status }: JobEnd): string =>
  status === "Cancelled" ? "its job was cancelled" : "its job ended without finishing it";
