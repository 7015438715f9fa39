import { z } from "zod";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { emitEvents } from "../../events/emit.ts";
import { defineJob, type JobContext } from "../../jobs/job_type.ts";
import { securityVersionOf } from "../../rights/security_version.ts";
import { accessChangedEvent, ANNOUNCE_ROLES_JOB } from "../access_changes.ts";
import type { AccessPlatform } from "../platform.ts";
import { emitRolesChanged } from "./role_changes.ts";
import type { Role } from "./roles.ts";
import { passOver, runBatches } from "../../shared/batches.ts";
import { FIRST_ID } from "../../shared/ids.ts";

const BATCH = 500;

/**
 * Emits `role.changed` for the catalog roles of all tenants with these names, and `user.access-changed` for their users.
 * The users keep their security version, because no session ends. A repeated run repeats events, which receivers must
 * accept anyway.
 */
export const announceRolesJob = defineJob({
  ...ANNOUNCE_ROLES_JOB,
  args: z.object({ roleNames: z.array(z.string()).min(1) }),
  timeoutMs: 3_600_000,
  async run({ roleNames }, { platform, db, signal }: JobContext<AccessPlatform>) {
    let users = 0;
    const roles = await passOver(BATCH, async (after) => {
      signal.throwIfAborted();
      const page = await transact(db, async (tx) => {
        const page = await readRoles(tx, roleNames, after);
        await emitRolesChanged(platform, tx, page);
        return page;
      });
      users += await announceHolders(page.map(({ id }) => id), { platform, db, signal });
      return page;
    });
    return { roles, users };
  },
});

type ChangedRole = Pick<Role, "id" | "tenantId" | "name" | "permissions">;

const readRoles = async (tx: Tx, names: string[], after: string): Promise<ChangedRole[]> =>
  await tx<ChangedRole[]>`
    select r.id, r.tenant_id, r.name, (
      select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'code', p.code) order by p.code), '[]')
      from role_permissions rp join permissions p on p.id = rp.permission_id and p.deleted_at is null
      where rp.role_id = r.id) as permissions
    from roles r where r.is_system and r.name = any(${names}::text[]) and r.deleted_at is null
      and r.id > ${after} order by r.id limit ${BATCH}`;

interface Holder {
  userId: string;
  tenantId: string;
  roleId: string;
  version: number;
}

/** Emits `user.access-changed` for all users of the roles, in batches. */
async function announceHolders(
  roleIds: string[],
  { platform, db, signal }: Pick<JobContext<AccessPlatform>, "platform" | "db" | "signal">,
): Promise<number> {
  let after = { roleId: FIRST_ID, userId: FIRST_ID };
  return await runBatches(BATCH, async () => {
    signal.throwIfAborted();
    const holders = await transact(db, async (tx) => {
      const holders = await tx<Holder[]>`
        select m.role_id, m.user_id, m.tenant_id, ${securityVersionOf(tx)} as version
        from user_tenant_roles m join users u on u.id = m.user_id
        where m.role_id = any(${roleIds}::uuid[]) and (m.role_id, m.user_id) > (${after.roleId}, ${after.userId})
        order by m.role_id, m.user_id limit ${BATCH}`;
      await emitEvents(platform, tx, holders.map((holder) => accessChangedEvent(holder, holder.tenantId)));
      return holders;
    });
    after = holders.at(-1) ?? after;
    return holders.length;
  });
}
