import { z } from "zod";
import { transact } from "../../infra/postgres/postgres.ts";
import { eraseMember } from "../access/users/user_erase.ts";
import { usersOnlyIn } from "../access/tenants/tenant_erase.ts";
import { purgeErased } from "../files/personal_data.ts";
import { JOB_REASONS } from "../files/purge_reasons.ts";
import { defineJob, type JobContext } from "../jobs/job_type.ts";
import type { ErasedPersons } from "../shared/personal_data.ts";
import {
  completeRequest,
  type DataRequestRow,
  endExports,
  findOpenErasures,
  insertUserErasure,
  writeStep,
} from "./data_request.ts";
import { areasOf, type UserDataPlatform } from "./platform.ts";
import { runRequest } from "./run_request.ts";

/** One pass over the tables serves this many users of an erased tenant. */
const USERS_AT_ONCE = 50;

/** Erases the data that areas keep about a user or a tenant. Each step may run again, because the attempt after a crash repeats it. */
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
  const persons = { userIds: [request.userId], addresses: request.addresses ?? [] };
  await erasePersons(p, request.id, persons, signal);
}

async function erasePersons(
  p: UserDataPlatform,
  requestId: string,
  persons: ErasedPersons,
  signal: AbortSignal,
): Promise<void> {
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
    const addresses = open.flatMap((erasure) => erasure.addresses ?? []);
    await erasePersons(p, id, { userIds: open.map(({ userId }) => userId), addresses }, signal);
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
    for (const userId of userIds) {
      const person = await eraseMember(p, tx, userId, request.requestedBy);
      if (person) await insertUserErasure(tx, request, person);
    }
    await endExports(tx, { userIds });
  });
  return userIds.length;
}
