import type { Tx } from "../../../infra/postgres/postgres.ts";
import type { WakeUps } from "../../../infra/wakeups/wakeups.ts";
import { emitEvents } from "../../events/emit.ts";
import type { Role } from "./roles.ts";

/** Emits `role.changed`: the role was created, changed or deleted, or its permissions were changed. */
export async function emitRoleChanged(
  p: { wakeUps?: WakeUps },
  tx: Tx,
  tenantId: string,
  { id, name, permissions }: Pick<Role, "id" | "name" | "permissions">,
  isDeleted = false,
): Promise<void> {
  const codes = isDeleted ? [] : permissions.map(({ code }) => code);
  await emitEvents(p, tx, [{
    type: "role.changed",
    tenantId,
    data: { roleId: id, name, permissions: codes, isDeleted },
  }]);
}
