import type { Sql } from "../../../infra/postgres/postgres.ts";
import { permissionCodes } from "../../rights/held_permissions.ts";
import { findUsersInTenant } from "../../rights/user_lookup.ts";
import type { Requester } from "./request_report.ts";

/**
 * A user with their current permissions, for reports that run in their name without a request. Null if they are no
 * longer an active user of the tenant.
 */
export async function readRequester(
  q: Sql,
  o: { userId: string | null; tenantId: string | null; traceId: string | null },
): Promise<Requester | null> {
  if (o.userId === null) return null;
  const [user] = await findUsersInTenant(q, o.tenantId, [o.userId]);
  if (!user) return null;
  const codes = await q<{ code: string }[]>`${permissionCodes(q, o.userId, o.tenantId)}`;
  return {
    userId: o.userId,
    tenantId: o.tenantId,
    permissions: new Set(codes.map(({ code }) => code)),
    traceId: o.traceId ?? "",
  };
}
