import { z } from "zod";
import { transact } from "../../infra/postgres/postgres.ts";
import { emitEvents } from "../events/emit.ts";
import { defineJob, type JobContext } from "../jobs/job_type.ts";
import { securityVersionOf } from "../rights/security_version.ts";
import type { AccessPlatform } from "./platform.ts";
import { passOver } from "../shared/batches.ts";
import { accessChangedEvent } from "./users/user_events.ts";

const BATCH = 500;
/** Constants of the job type, for code that enqueues it. */
export const ANNOUNCE_JOB = { name: "access.announce-changes", maxRetries: 10 } as const;

const args = z.object({ tenantId: z.guid(), roleId: z.guid().nullable() });
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
    const announced = await passOver(BATCH, (after) => {
      signal.throwIfAborted();
      return transact(db, async (tx) => {
        const members = roleId
          ? tx`select user_id from user_tenant_roles where role_id = ${roleId}`
          : tx`select user_id from user_tenants where tenant_id = ${tenantId} and is_active`;
        const users = await tx<{ id: string; version: number }[]>`
          select u.id, ${securityVersionOf(tx)} as version from users u
          where u.id in (${members}) and u.id > ${after} order by u.id limit ${BATCH}`;
        await emitEvents(
          platform,
          tx,
          users.map(({ id: userId, version }) => accessChangedEvent({ userId, version }, tenantId)),
        );
        return users;
      });
    });
    return { announced };
  },
});
