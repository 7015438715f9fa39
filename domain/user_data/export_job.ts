import { z } from "zod";
import { connectPostgres, type Pool } from "../../infra/postgres/postgres.ts";
import { type ZipPart, zipStream } from "../../infra/zip_stream.ts";
import { addressesOf } from "../access/users/user_erase.ts";
import { purgeErased } from "../files/personal_data.ts";
import { EXPORT_PROFILE } from "../files/profiles.ts";
import { JOB_REASONS } from "../files/purge_reasons.ts";
import { storeServiceFile } from "../files/service_files.ts";
import { defineJob, type JobContext } from "../jobs/job_type.ts";
import type { DataSubject, Exports } from "../shared/personal_data.ts";
import { completeRequest, type DataRequestRow, writeStep } from "./data_request.ts";
import { areasOf, type UserDataPlatform } from "./platform.ts";
import { runRequest } from "./run_request.ts";

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
    const { platform: p, db, signal } = context;
    const message = "The export failed; the job's executions show why.";
    const stored = await runRequest(context, requestId, message, async (request) => {
      const file = await writeExport(p, request, signal);
      if (await completeRequest(db, requestId, file.fileId)) return file;
      await purgeErased(p, [file.fileId], JOB_REASONS.dataErased);
      return null;
    });
    return stored
      ? { exported: true, fileId: stored.fileId, sizeBytes: stored.sizeBytes }
      : { exported: false };
  },
});

async function writeExport(p: UserDataPlatform, request: DataRequestRow, signal: AbortSignal) {
  const reader = connectPostgres(p.config.DATABASE_URL ?? "", { max: 1, work: "report", idleSeconds: 5 });
  try {
    const files = request.kind === "UserExport"
      ? userFiles(p, reader, request, signal)
      : tenantFiles(p, reader, request, signal);
    const name = request.kind === "UserExport" ? "user" : "tenant";
    return await storeServiceFile(p, {
      tenantId: request.contextTenantId,
      profile: EXPORT_PROFILE,
      fileName: `${name}-export-${request.userId ?? request.tenantId}.zip`,
      contentType: "application/zip",
      createdBy: request.requestedBy,
      keepUntil: new Date(p.clock.now().getTime() + EXPORT_DAYS * 86_400_000),
    }, ReadableStream.from(zipStream(files)));
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
