import { z } from "zod";
import { time } from "../shared/shapes.ts";
import type { Sql, SqlPart, Tx } from "../../infra/postgres/postgres.ts";
import { type FileRow, readVisibleFile } from "../files/file.ts";
import { problem } from "../problems/problem.ts";
import type { Caller } from "../rights/caller.ts";
import { newId } from "../shared/ids.ts";
import type { DataSubject, PersonalData } from "../shared/personal_data.ts";
import { eraseAddresses } from "../shared/erase_text.ts";

const DATA_REQUEST_KINDS = ["UserExport", "UserErasure", "TenantExport", "TenantErasure"] as const;
const DATA_REQUEST_STATUSES = ["Queued", "Running", "Completed", "Failed"] as const;
export type DataRequestKind = typeof DATA_REQUEST_KINDS[number];

/** An export or erasure of the data of a user or tenant, as callers see it. */
export const DataRequest = z.object({
  id: z.guid(),
  kind: z.enum(DATA_REQUEST_KINDS),
  userId: z.guid().nullable(),
  tenantId: z.guid().nullable(),
  status: z.enum(DATA_REQUEST_STATUSES),
  step: z.string().nullable().describe("What is done now: the name of an area"),
  reason: z.string().nullable(),
  fileId: z.guid().nullable().describe(
    "File of a completed export. Only the user who asked for it can read and download it, for 7 days",
  ),
  errorMessage: z.string().nullable(),
  requestedBy: z.guid().nullable(),
  createdAt: time,
  completedAt: time.nullable(),
}).meta({ id: "DataRequestDto" });
export type DataRequest = z.output<typeof DataRequest>;

/** The row of a request, with the columns that only its job reads. */
export interface DataRequestRow extends DataRequest {
  addresses: string[] | null;
  contextTenantId: string | null;
}

/** Columns of `DataRequest`. */
export const requestColumns = (q: Sql) =>
  q`id, kind, user_id, tenant_id, status, step, reason, file_id, error_message, requested_by, created_at, completed_at`;

/** Reads the row of a request for its job; null if there is none. */
export async function readRequestRow(q: Sql, id: string): Promise<DataRequestRow | null> {
  const [row] = await q<DataRequestRow[]>`
    select ${requestColumns(q)}, addresses, context_tenant_id from data_requests where id = ${id}`;
  return row ?? null;
}

/** The requests about a user or a tenant. */
interface Selection {
  about: { userId: string } | { tenantId: string };
  /** Only requests that were made in this tenant; null: in any. */
  within: string | null;
  /** Only requests of this user; absent: of anyone. */
  by?: string;
}

/** The exports that the caller asked for about themselves. */
export const ownExports = ({ userId }: Pick<Caller, "userId">): Selection => ({
  about: { userId },
  within: null,
  by: userId,
});

function chosen(q: Sql, { about, within, by }: Selection): SqlPart {
  const isAbout = "userId" in about
    ? q`user_id = ${about.userId} and kind in ('UserExport', 'UserErasure')`
    : q`tenant_id = ${about.tenantId} and kind in ('TenantExport', 'TenantErasure')`;
  return q`${isAbout} and (${within}::uuid is null or context_tenant_id = ${within})
    and ${by === undefined ? q`true` : q`requested_by = ${by}`}`;
}

/**
 * Reads a request about a user or a tenant.
 * @throws DATA_REQUEST_NOT_FOUND
 */
export async function readRequest(q: Sql, o: Selection & { id: string }): Promise<DataRequest> {
  const [row] = await q<DataRequest[]>`
    select ${requestColumns(q)} from data_requests
    where id = ${o.id} and ${chosen(q, o)}`;
  if (row) return row;
  throw problem("DATA_REQUEST_NOT_FOUND", `There is no such export or erasure ${o.id}.`);
}

/** Reads the file of the caller's own export, in any tenant. @throws DATA_REQUEST_NOT_FOUND, FILE_NOT_FOUND */
export async function readOwnExportFile(q: Sql, caller: Caller, id: string): Promise<FileRow> {
  const { fileId } = await readRequest(q, { ...ownExports(caller), id });
  const row = await readRequestRow(q, id);
  if (!fileId) throw problem("FILE_NOT_FOUND", "The export has no file.");
  const reader = { ...caller, clientId: null, tenantId: row?.contextTenantId ?? null };
  return await readVisibleFile(q, reader, fileId);
}

/** The requests about a user or tenant, newest first; at most 20. */
export async function listRequests(q: Sql, o: Selection): Promise<DataRequest[]> {
  return await q<DataRequest[]>`
    select ${requestColumns(q)} from data_requests
    where ${chosen(q, o)} order by id desc limit 20`;
}

export interface NewRequest {
  id: string;
  kind: DataRequestKind;
  userId?: string;
  tenantId?: string | null;
  reason?: string;
  addresses?: string[];
  jobId: string;
}

/** Inserts a Queued request. */
export async function insertRequest(tx: Tx, caller: Caller, o: NewRequest): Promise<DataRequest> {
  const [row] = await tx<DataRequest[]>`
    insert into data_requests (id, kind, user_id, tenant_id, reason, addresses, requested_by, context_tenant_id, job_id)
    values (${o.id}, ${o.kind}, ${o.userId ?? null}, ${o.tenantId ?? null}, ${o.reason ?? null},
      ${o.addresses ?? null}::text[], ${caller.userId}, ${caller.tenantId}, ${o.jobId})
    returning ${requestColumns(tx)}`;
  if (!row) throw new Error("the inserted request was not returned");
  return row;
}

/** Inserts the erasure of a user that belongs to the erasure of a tenant. */
export async function insertUserErasure(
  tx: Tx,
  parent: DataRequestRow,
  { userId, addresses }: DataSubject,
): Promise<void> {
  await tx`
    insert into data_requests (id, kind, user_id, status, reason, addresses, requested_by, context_tenant_id, parent_id)
    values (${newId()}, 'UserErasure', ${userId}, 'Running', ${parent.reason}, ${addresses}::text[],
      ${parent.requestedBy}, ${parent.contextTenantId}, ${parent.id})
    on conflict (user_id) where kind = 'UserErasure' do nothing`;
}

/** Finds erasures of users that belong to the erasure of a tenant and have not ended. */
export const findOpenErasures = (q: Sql, parentId: string, limit: number) =>
  q<{ id: string; userId: string; addresses: string[] | null }[]>`
    select id, user_id, addresses from data_requests
    where parent_id = ${parentId} and status <> 'Completed' order by id limit ${limit}`;

/**
 * Marks a request as Running by a job. A failed erasure may continue. A failed export may not: an erasure may have ended it.
 * @returns false if it has ended, so that there is nothing to do
 */
export async function startRequest(q: Sql, id: string, jobId: string): Promise<boolean> {
  const started =
    await q`update data_requests set status = 'Running', error_message = null, completed_at = null, job_id = ${jobId}
    where id = ${id} and (status in ('Queued', 'Running')
      or status = 'Failed' and kind in ('UserErasure', 'TenantErasure'))`;
  return started.count > 0;
}

/** Ends the exports about a user or tenant that have not ended, in the transaction that begins the erasure. */
export async function endExports(tx: Tx, about: { userIds: string[] } | { tenantId: string }): Promise<void> {
  const theirs = "userIds" in about
    ? tx`kind = 'UserExport' and user_id = any(${about.userIds}::uuid[])`
    : tx`kind = 'TenantExport' and tenant_id = ${about.tenantId}`;
  await tx`update data_requests set status = 'Failed', step = null, completed_at = now(),
      error_message = 'The export was ended, because an erasure of the same data began.'
    where ${theirs} and status in ('Queued', 'Running')`;
}

/** Sets the area that the request's job works on, for callers. */
export async function writeStep(q: Sql, id: string, step: string): Promise<void> {
  await q`update data_requests set step = ${step} where id = ${id}`;
}

/** Completes an open request and removes the addresses of the person. @returns false if it has already ended */
export async function completeRequest(q: Sql, id: string, fileId: string | null): Promise<boolean> {
  const completed =
    await q`update data_requests set status = 'Completed', step = null, addresses = null, file_id = ${fileId},
    completed_at = now() where id = ${id} and status in ('Queued', 'Running')`;
  return completed.count > 0;
}

export async function failRequest(q: Sql, id: string, message: string): Promise<void> {
  await q`update data_requests set status = 'Failed', error_message = ${message}, completed_at = now()
    where id = ${id} and status <> 'Completed'`;
}

/** Imports, exports and erasures themselves. */
export const userDataPersonalData: PersonalData = {
  area: "user-data",
  user: {
    requests: (q, { userId }) =>
      q`select id, kind, tenant_id, status, reason, requested_by, created_at, completed_at from data_requests
      where user_id = ${userId} order by id`,
  },
  async eraseUsers({ sql }, persons) {
    await eraseAddresses(sql, persons, [
      {
        table: "user_import_rows",
        key: { import_id: "uuid", row: "integer" },
        columns: { email: "text" },
      },
      { table: "data_requests", columns: { reason: "text", error_message: "text" } },
    ]);
  },
  tenant: {
    imports: (q, tenantId) =>
      q`select id, status, is_dry_run, total, created, updated, failed, created_by, created_at, finished_at
      from user_imports where tenant_id = ${tenantId} order by id`,
  },
  async eraseTenant({ sql }, tenantId) {
    await sql`delete from user_imports where tenant_id = ${tenantId}`;
  },
};
