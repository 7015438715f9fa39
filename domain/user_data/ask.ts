import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import { closeTenant, lockErasableTenant, requireTenantExists } from "../access/tenants/tenant_changes.ts";
import { tenantNotFound } from "../access/tenant_not_found.ts";
import { anonymizeUser, requireExportable } from "../access/users/user_erase.ts";
import { lockUser } from "../access/users/user_details.ts";
import { recordAudit } from "../audit/audit.ts";
import { requireNoLegalHold } from "../files/personal_data.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import { problem } from "../problems/problem.ts";
import type { Caller } from "../rights/caller.ts";
import { newId } from "../shared/ids.ts";
import {
  type DataRequest,
  endExports,
  insertRequest,
  listRequests,
  type NewRequest,
  ownExports,
  requestColumns,
} from "./data_request.ts";
import { eraseDataJob, exportDataJob } from "./request_jobs.ts";
import type { UserDataPlatform } from "./platform.ts";

/**
 * Asks for an export of a user's data.
 * @param within the tenant whose data is exported; null: all
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN
 */
export async function exportUser(
  p: UserDataPlatform,
  caller: Caller,
  userId: string,
  within: string | null,
): Promise<DataRequest> {
  return await transact(p.sql, async (tx) => {
    await requireExportable(tx, caller, userId, within);
    const request = { kind: "UserExport", userId, tenantId: within } as const;
    return await writeRequest(p, tx, caller, request, { action: "user.export", tenantId: within });
  });
}

/**
 * Asks for an export of the caller's own data in all tenants; returns the one that runs already.
 * @throws SESSION_INVALIDATED if the caller was deleted or erased meanwhile: no erasure would find the export
 */
export async function exportOwnData(p: UserDataPlatform, caller: Caller): Promise<DataRequest> {
  return await transact(p.sql, async (tx) => {
    const { userId } = caller;
    // One request after the other.
    if (!await lockUser(tx, userId)) throw problem("SESSION_INVALIDATED", "The user was deleted.");
    const running = (await listRequests(tx, ownExports(caller))).find(({ completedAt }) => !completedAt);
    if (running) return running;
    const request = { kind: "UserExport", userId, tenantId: null } as const;
    return await writeRequest(p, tx, caller, request, { action: "user.export", tenantId: caller.tenantId });
  });
}

/** Asks for an export of everything in a tenant. @throws TENANT_NOT_FOUND */
export async function exportTenant(
  p: UserDataPlatform,
  caller: Caller,
  tenantId: string,
): Promise<DataRequest> {
  return await transact(p.sql, async (tx) => {
    await requireTenantExists(tx, tenantId);
    const erasures =
      await tx`select from data_requests where kind = 'TenantErasure' and tenant_id = ${tenantId}`;
    if (erasures.length > 0) throw tenantNotFound(tenantId);
    const request = { kind: "TenantExport", tenantId } as const;
    return await writeRequest(p, tx, caller, request, { action: "tenant.export", tenantId });
  });
}

/**
 * Erases a user: the profile, password, sessions and keys at once, everything else by a job. A repeated call returns the
 * same request, and starts the job again if it failed.
 * @param within the caller's tenant; null: as a platform administrator
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, USER_SELF_CONFLICT, LAST_SYSTEM_ADMIN_CONFLICT
 */
export async function eraseUser(
  p: UserDataPlatform,
  caller: Caller,
  userId: string,
  o: { reason: string; within: string | null },
): Promise<DataRequest> {
  return await transact(p.sql, async (tx) => {
    const person = await anonymizeUser(p, tx, caller, userId, o.within);
    if (!person) return await resumeErasure(p, tx, { userId });
    await endExports(tx, { userIds: [userId] });
    const { addresses } = person;
    const request = { kind: "UserErasure", userId, reason: o.reason, addresses } as const;
    return await writeRequest(p, tx, caller, request, { action: "user.erase", tenantId: o.within });
  });
}

/**
 * Erases an inactive tenant and the users who belong to no other. A repeated call returns the same request.
 * @param o.name the name of the tenant, repeated
 * @throws TENANT_NOT_FOUND, TENANT_PLATFORM_CONFLICT, TENANT_ACTIVE_CONFLICT, TENANT_HAS_CHILDREN_CONFLICT,
 * VALIDATION_ERROR, FILE_LEGAL_HOLD_CONFLICT
 */
export async function eraseTenant(
  p: UserDataPlatform,
  caller: Caller,
  tenantId: string,
  o: { reason: string; name: string },
): Promise<DataRequest> {
  return await transact(p.sql, async (tx) => {
    const tenant = await lockErasableTenant(tx, tenantId);
    const earlier =
      await tx`select from data_requests where kind = 'TenantErasure' and tenant_id = ${tenantId}`;
    if (earlier.length > 0) return await resumeErasure(p, tx, { tenantId });
    await closeTenant(p, tx, tenant, o.name);
    await requireNoLegalHold(tx, tenantId);
    await endExports(tx, { tenantId });
    const request = { kind: "TenantErasure", tenantId, reason: o.reason } as const;
    return await writeRequest(p, tx, caller, request, { action: "tenant.erase", tenantId: null });
  });
}

/** Enqueues the job of a request, and writes the request and its audit row. @param tenantId the tenant of the row */
async function writeRequest(
  p: UserDataPlatform,
  tx: Tx,
  caller: Caller,
  request: Omit<NewRequest, "id" | "jobId">,
  { action, tenantId }: { action: string; tenantId: string | null },
): Promise<DataRequest> {
  const id = newId();
  const { userId, reason } = request;
  const isExport = request.kind === "UserExport" || request.kind === "TenantExport";
  const jobId = await enqueueJob(p, tx, isExport ? exportDataJob : eraseDataJob, { requestId: id });
  const after = { requestId: id, reason };
  await recordAudit(tx, caller, action, userId ?? request.tenantId ?? "", { tenantId, after });
  return await insertRequest(tx, caller, { ...request, id, jobId });
}

/** Returns the existing erasure. If it failed, its job starts again. */
async function resumeErasure(
  p: UserDataPlatform,
  tx: Tx,
  about: { userId: string } | { tenantId: string },
): Promise<DataRequest> {
  const which = "userId" in about
    ? tx`kind = 'UserErasure' and user_id = ${about.userId}`
    : tx`kind = 'TenantErasure' and tenant_id = ${about.tenantId}`;
  const [request] = await tx<DataRequest[]>`
    select ${requestColumns(tx)} from data_requests where ${which} for update`;
  if (!request) throw new Error("an erased user or tenant has no erasure");
  if (request.status !== "Failed") return request;
  const jobId = await enqueueJob(p, tx, eraseDataJob, { requestId: request.id });
  await tx`update data_requests set status = 'Queued', error_message = null, completed_at = null, job_id = ${jobId}
    where id = ${request.id}`;
  return { ...request, status: "Queued", errorMessage: null, completedAt: null };
}
