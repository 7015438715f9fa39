import { z } from "zod";
import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { fileNotFound, lockVisibleFile } from "../../files/file.ts";
import { requireAvailable } from "../../files/file_state.ts";
import type { FilePlatform } from "../../files/platform.ts";
import { holdFile } from "../../files/references.ts";
import { SERVICE_SCOPES } from "../../files/service_scopes.ts";
import { enqueueJob } from "../../jobs/enqueue.ts";
import { invalid, problem } from "../../problems/problem.ts";
import { type Caller, holds } from "../../rights/caller.ts";
import { PLATFORM_REACH } from "../../rights/catalog.ts";
import { requireStepUpOfFactorHolder } from "../../rights/checks.ts";
import { newId } from "../../shared/ids.ts";
import { belongsTo, readPage } from "../../shared/lists.ts";
import type { PagedResult, PageRequest } from "../../shared/paging.ts";
import { time } from "../../shared/shapes.ts";

const IMPORT_STATUSES = ["Queued", "Running", "Completed", "Failed"] as const;

/** An import of users from a file. */
export const UserImport = z.object({
  id: z.guid(),
  fileId: z.guid(),
  dryRun: z.boolean(),
  status: z.enum(IMPORT_STATUSES),
  total: z.int().nullable().describe("Rows of the file; null until it was read once"),
  created: z.int(),
  updated: z.int(),
  unchanged: z.int(),
  failed: z.int(),
  error: z.string().nullable().describe("Why the import failed as a whole"),
  resultFileId: z.guid().nullable().describe(
    "A CSV file with the outcome of each row; it is scanned before it can be downloaded",
  ),
  createdBy: z.guid(),
  createdAt: time,
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
}).meta({ id: "UserImportDto" });
export type UserImport = z.output<typeof UserImport>;

/** Scope of the reference that holds the file while it is imported. */
export const SOURCE_SCOPE = SERVICE_SCOPES.userImport;

const columns = (q: Sql) =>
  q`id, file_id, is_dry_run as dry_run, status, total, created, updated, unchanged, failed, error, result_file_id,
    created_by, created_at, started_at, finished_at`;

/**
 * Starts an import of a file that the caller may read: one of the caller's tenant, which they uploaded or may read by
 * their permissions. Without `tenantId` the rows name their tenants. The rows may give roles with platform reach to users,
 * so a caller who can needs a recent sign-in, like for giving one of these roles.
 * @throws STEP_UP_REQUIRED_FORBIDDEN, FILE_NOT_FOUND, FILE_NOT_AVAILABLE_CONFLICT, FILE_INFECTED_CONFLICT,
 * FILE_PURGED_CONFLICT, VALIDATION_ERROR (profile of the file)
 */
export async function startUserImport(
  p: FilePlatform,
  caller: Caller,
  o: { fileId: string; dryRun: boolean; tenantId: string | null },
): Promise<string> {
  const { fileId, dryRun, tenantId } = o;
  const mayGiveReach = !dryRun && [...caller.permissions].some((code) => PLATFORM_REACH.has(code));
  if (mayGiveReach) requireStepUpOfFactorHolder(caller);
  return await transact(p.sql, async (tx) => {
    const file = await lockVisibleFile(tx, caller, fileId);
    const mayRead = file.createdBy === caller.userId || caller.permissions.has("read:files");
    // A file without a tenant is visible to all tenants, and so would be the result.
    if (file.tenantId === null || !mayRead) throw fileNotFound();
    if (file.profile !== "document") {
      throw invalid({ fileId: [`expected a file of the profile document, found ${file.profile}`] });
    }
    requireAvailable(file);
    const id = newId();
    const { userId, apiKeyId, actedBy, traceId, serviceAccount, permissions } = caller;
    const job = { tenantId: caller.tenantId, createdBy: userId, traceId };
    const jobId = await enqueueJob(p, tx, IMPORT_JOB, { importId: id }, job);
    await tx`insert into user_imports (id, tenant_id, file_id, is_dry_run, created_by, api_key_id,
        is_service_account, acting_tenant_id, permissions, trace_id, job_id, acted_by)
      values (${id}, ${tenantId}, ${fileId}, ${dryRun}, ${userId}, ${apiKeyId}, ${serviceAccount !== null},
        ${caller.tenantId}, ${[...permissions]}::text[], ${traceId}, ${jobId}, ${actedBy?.userId ?? null})`;
    await holdFile(tx, {
      fileId,
      tenantId: file.tenantId,
      scope: SOURCE_SCOPE,
      ownerId: id,
      createdBy: userId,
    });
    await recordAudit(tx, { ...caller, tenantId }, "userImport.create", id, { after: { fileId, dryRun } });
    return id;
  });
}

/** Lists the imports of a tenant, or those into several tenants (null), newest first. */
export async function listUserImports(
  q: Sql,
  tenantId: string | null,
  page: PageRequest,
): Promise<PagedResult<UserImport>> {
  const from = q`user_imports where ${belongsTo(q, tenantId)}`;
  return await readPage(q, { columns: columns(q), from, order: q`order by id desc` }, page);
}

/** Reads an import of a tenant, or one into several tenants (null). Throws USER_IMPORT_NOT_FOUND. */
export async function readUserImport(q: Sql, tenantId: string | null, id: string): Promise<UserImport> {
  const [found] = await q<UserImport[]>`select ${columns(q)} from user_imports
    where id = ${id} and tenant_id is not distinct from ${tenantId}::uuid`;
  if (!found) throw problem("USER_IMPORT_NOT_FOUND", `There is no import ${id} here.`);
  return found;
}

/** True if the holder of these permissions may import into one tenant or, with null, into several. */
export const mayImport = (permissions: ReadonlySet<string>, tenantId: string | null): boolean =>
  holds({ permissions }, tenantId === null ? "manage:all-users" : "create:users");

/** A running import, as its job needs it. */
export interface RunningImport {
  id: string;
  tenantId: string | null;
  fileId: string;
  isDryRun: boolean;
  createdBy: string;
  apiKeyId: string | null;
  /** The user who acted as the creator; null: the creator themselves. */
  actedBy: string | null;
  isServiceAccount: boolean;
  actingTenantId: string;
  permissions: string[];
  traceId: string;
  total: number | null;
  position: number;
}

/** Marks an import as running by a job; null if it has finished. */
export async function beginImport(q: Sql, id: string, jobId: string): Promise<RunningImport | null> {
  const [begun] = await q<RunningImport[]>`
    update user_imports set status = 'Running', started_at = coalesce(started_at, now()), version = version + 1,
      job_id = ${jobId}
    where id = ${id} and status in ('Queued', 'Running')
    returning id, tenant_id, file_id, is_dry_run, created_by, api_key_id, acted_by, is_service_account,
      acting_tenant_id, permissions, trace_id, total, position`;
  return begun ?? null;
}

/** Locks a running import at a position; false if another run has moved it. */
export async function lockImportAt(tx: Tx, id: string, position: number): Promise<boolean> {
  const [at] = await tx`select from user_imports
    where id = ${id} and position = ${position} and status = 'Running' for no key update`;
  return at !== undefined;
}

/** Constants of the job type, for code that enqueues it. The only argument is the import's id. */
export const IMPORT_JOB = {
  name: "steward.import-users",
  args: z.object({ importId: z.guid() }),
  exposed: false,
  timeoutMs: 30 * 60_000,
  maxRetries: 10,
  concurrency: 2,
  isConcurrencySoft: true,
} as const;
