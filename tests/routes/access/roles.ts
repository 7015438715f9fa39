// Helpers of the role tests: callers who administer roles, and test data.
import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import type { Actor, TestService } from "../../support/setup.ts";
import { idOf } from "./answers.ts";
import { catalogRole } from "./users.ts";

export const ROLES = "/api/v1/roles";
export const ADMINISTERS = ["read:roles", "create:roles", "update:roles", "delete:roles"];

export async function rolesOf(t: TestService) {
  const { sql } = t.steward.platform;
  const admin = await t.actor({ permissions: ADMINISTERS });
  const permissionIds = new Map(
    (await sql<{ code: string; id: string }[]>`select code, id from permissions where tenant_id is null`)
      .map(({ code, id }) => [code, id]),
  );
  const create = (body: Record<string, unknown>, by: HttpClient = admin): Promise<HttpAnswer> =>
    by.post(ROLES, body);

  return {
    admin,
    /** The same caller in another tenant. */
    stranger: await t.actor({ permissions: ADMINISTERS }),
    create,
    newRole: (name: string, permissionIds: string[] = [], by: HttpClient = admin): Promise<string> =>
      idOf(create({ name, permissionIds }, by)),
    /** The id of a catalog permission. */
    permission: (code: string): string => permissionIds.get(code) ?? assert.fail(`no ${code}`),
    systemRole: (name: string, tenantId = admin.tenantId): Promise<string> => catalogRole(t, name, tenantId),
    /** A permission that belongs to the tenant of `owner`. */
    async ownPermission(owner: Actor, code: string): Promise<string> {
      const id = newId();
      await sql`insert into permissions (id, tenant_id, code, category)
        values (${id}, ${owner.tenantId}, ${code}, 'Own')`;
      return id;
    },
    /** A signed-in visitor who also holds `roleId` in the tenant of `owner`. */
    async holder(owner: Actor, roleId: string): Promise<Actor> {
      const actor = await t.actor({ tenantId: owner.tenantId ?? "", role: "Visitor" });
      await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
        values (${actor.userId}, ${owner.tenantId}, ${roleId})`;
      return await t.signedIn(actor);
    },
  };
}
