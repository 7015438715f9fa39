import type { Tx } from "../../../infra/postgres/postgres.ts";
import type { WakeUps } from "../../../infra/wakeups/wakeups.ts";
import { emitEvents } from "../../events/emit.ts";
import type { Tenant } from "./tenants.ts";

type Fields = Pick<Tenant, "name" | "type" | "isActive" | "parentTenantId">;

const dataOf = ({ name, type, isActive, parentTenantId }: Fields) => ({
  name,
  type,
  isActive,
  parentTenantId,
});

/** Emits `tenant.created`. */
export const emitTenantCreated = (p: { wakeUps?: WakeUps }, tx: Tx, tenantId: string, tenant: Fields) =>
  emitEvents(p, tx, [{ type: "tenant.created", tenantId, data: dataOf(tenant) }]);

/** Emits `tenant.changed`, also when the tenant was deleted. */
export const emitTenantChanged = (
  p: { wakeUps?: WakeUps },
  tx: Tx,
  tenantId: string,
  tenant: Fields,
  isDeleted = false,
) => emitEvents(p, tx, [{ type: "tenant.changed", tenantId, data: { ...dataOf(tenant), isDeleted } }]);
