import type { Tx } from "../../../infra/postgres/postgres.ts";
import type { WakeUps } from "../../../infra/wakeups/wakeups.ts";
import { emitEvents, type NewEvent } from "../../events/emit.ts";
import type { Role } from "./roles.ts";

/** Emits `role.changed` for roles that were created, changed or deleted, or whose permissions were changed. */
export async function emitRolesChanged(
  p: { wakeUps?: WakeUps },
  tx: Tx,
  roles: Pick<Role, "id" | "tenantId" | "name" | "permissions">[],
  isDeleted = false,
): Promise<void> {
  const events = roles.map(({ id, tenantId, name, permissions }): NewEvent => ({
    type: "role.changed",
    tenantId,
    data: {
      roleId: id,
      name,
      permissions: isDeleted ? [] : permissions.map(({ code }) => code),
      isDeleted,
    },
  }));
  await emitEvents(p, tx, events);
}
