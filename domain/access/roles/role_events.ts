import type { Tx } from "../../../infra/postgres/postgres.ts";
import type { WakeUps } from "../../../infra/wakeups/wakeups.ts";
import { emitEvents, type NewEvent } from "../../events/emit.ts";
import type { Role } from "./roles.ts";

/** Emits `role.changed`: the role was created, changed or deleted, or its permissions were changed. */
export async function emitRoleChanged(
  p: { wakeUps?: WakeUps },
  tx: Tx,
  tenantId: string,
  { id, name, permissions }: Pick<Role, "id" | "name" | "permissions">,
  isDeleted = false,
): Promise<void> {
  await emitRolesChanged(
    p,
    tx,
    [{ id, tenantId, name, permissions: isDeleted ? [] : permissions }],
    isDeleted,
  );
}

/** Like `emitRoleChanged`, for roles of any tenants. */
export async function emitRolesChanged(
  p: { wakeUps?: WakeUps },
  tx: Tx,
  roles: Pick<Role, "id" | "tenantId" | "name" | "permissions">[],
  isDeleted = false,
): Promise<void> {
  const events = roles.map(({ id, tenantId, name, permissions }): NewEvent => ({
    type: "role.changed",
    tenantId,
    data: { roleId: id, name, permissions: permissions.map(({ code }) => code), isDeleted },
  }));
  await emitEvents(p, tx, events);
}
