import { z } from "zod";
import { transact } from "../../infra/postgres/postgres.ts";
import { emitEvents } from "../events/emit.ts";
import { defineJob, type JobContext } from "../jobs/job_type.ts";
import { securityVersionOf } from "../rights/security_version.ts";
import type { AccessPlatform } from "./platform.ts";

const BATCH = 500;
const FIRST_ID = "00000000-0000-0000-0000-000000000000";
/** Constants of the job type, for code that enqueues it. */
export const ANNOUNCE_JOB = { name: "access.announce-changes", maxRetries: 10 } as const;

const args = z.object({ tenantId: z.uuid(), roleId: z.uuid().nullable() });
/** The role, or the tenant, whose users have other rights now. */
export type ChangedAccess = z.output<typeof args>;

/**
 * Emits `user.access-changed` for all users of a role or a tenant, in batches. Users who have left since then got their
 * own event. A repeated run repeats events, which receivers must accept anyway.
 */
export const announceAccessJob = defineJob({
  ...ANNOUNCE_JOB,
  args,
  timeoutMs: 600_000,
  async run({ tenantId, roleId }, { platform, db, signal }: JobContext<AccessPlatform>) {
    let announced = 0;
    let last = FIRST_ID;
    for (;;) {
      signal.throwIfAborted();
      const users = await transact(db, async (tx) => {
        const members = roleId
          ? tx`select user_id from user_tenant_roles where role_id = ${roleId}`
          : tx`select user_id from user_tenants where tenant_id = ${tenantId} and is_active`;
        const users = await tx<{ userId: string; version: number }[]>`
          select u.id as user_id, ${securityVersionOf(tx)} as version from users u
          where u.id in (${members}) and u.id > ${last} order by u.id limit ${BATCH}`;
        await emitEvents(
          platform,
          tx,
          users.map((data) => ({ type: "user.access-changed", tenantId, data })),
        );
        return users;
      });
      announced += users.length;
      last = users.at(-1)?.userId ?? last;
      if (users.length < BATCH) return { announced };
    }
  },
});
