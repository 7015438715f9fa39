import { z } from "zod";
import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { type Problem, problem } from "../../problems/problem.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { requiredName } from "../../shared/shapes.ts";
import type { Platform } from "../../shared/platform.ts";
import { roleNotFound } from "../roles/roles.ts";
import { lockLinkTargets } from "../users/link_targets.ts";

/** The table of groups: which role a group of the directory is. */
export const GroupMapping = z.object({
  roleId: z.guid(),
  roleName: z.string(),
  displayName: z.string().describe("The name under which the directory finds the role"),
  externalId: z.string().nullable().describe("The group's id in the directory, which writes it"),
  isGroup: z.boolean().describe("false: the directory does not see the role"),
}).meta({ id: "ScimGroupMapping" });
export type GroupMapping = z.output<typeof GroupMapping>;

export const groupName = requiredName(100);

/** A change of a mapping. Absent members keep their value. */
export const GroupMappingChange = z.object({
  displayName: groupName.nullish().describe("null: the name of the role"),
  isGroup: z.boolean().optional(),
}).meta({ id: "ScimGroupMappingChange" });

/** A role as a group of the directory. */
export interface Group {
  id: string;
  name: string;
  displayName: string;
  externalId: string | null;
  /** Who keeps the directory from seeing the role; it can only bring back a group that it has deleted. */
  hiddenBy: "administrator" | "directory" | null;
}

const mappingColumns = (q: Sql) =>
  q`r.id as role_id, r.name as role_name, coalesce(g.display_name, r.name) as display_name, g.external_id,
  g.hidden_by is null as is_group`;

/** Lists the roles of the tenant as groups, by name. */
export const listGroupMappings = (q: Sql, { tenantId }: TenantCaller): Promise<GroupMapping[]> =>
  q<GroupMapping[]>`
    select ${mappingColumns(q)} from roles r left join scim_groups g on g.role_id = r.id
    where r.tenant_id = ${tenantId} and r.deleted_at is null order by same_text(r.name), r.id`;

/** Maps a group of the directory to a role of the caller's tenant. @throws ROLE_NOT_FOUND, ROLE_ALREADY_EXISTS */
export async function mapGroup(
  p: Pick<Platform, "sql">,
  caller: TenantCaller,
  roleId: string,
  { displayName, isGroup }: z.output<typeof GroupMappingChange>,
): Promise<GroupMapping> {
  const { tenantId } = caller;
  return await transact(p.sql, async (tx) => {
    await lockLinkTargets(tx, [{ tenantId, roleIds: [roleId] }]);
    const [present] = await tx<(GroupMapping & Pick<Group, "hiddenBy">)[]>`
      select ${mappingColumns(tx)}, g.hidden_by from roles r left join scim_groups g on g.role_id = r.id
      where r.id = ${roleId} and r.tenant_id = ${tenantId} and r.deleted_at is null`;
    if (!present) throw roleNotFound(roleId);
    const before = { ...present, id: roleId, name: present.roleName };
    const name = displayName === null ? present.roleName : displayName ?? present.displayName;
    const hiddenBy = isGroup === undefined ? present.hiddenBy : isGroup ? null : "administrator";
    await requireFreeName(tx, tenantId, roleId, name);
    await writeGroup(tx, caller, before, { displayName: name, hiddenBy });
    const { hiddenBy: _, ...mapping } = present;
    return { ...mapping, displayName: name, isGroup: hiddenBy === null };
  });
}

/** Checks that no other group of the locked tenant, hidden or not, has this name. @throws ROLE_ALREADY_EXISTS */
export async function requireFreeName(tx: Tx, tenantId: string, id: string, name: string): Promise<void> {
  const [other] = await tx`
    select from roles r left join scim_groups g on g.role_id = r.id
    where r.tenant_id = ${tenantId} and r.deleted_at is null and r.id <> ${id}
      and same_text(coalesce(g.display_name, r.name)) = same_text(${name})`;
  if (other) throw nameTaken(name);
}

export const nameTaken = (name: string): Problem =>
  problem("ROLE_ALREADY_EXISTS", `The tenant already has a group with the displayName ${name}.`);

/** Writes the members of a group that its role does not have, and counts a new version. Does nothing without a change. */
export async function writeGroup(
  tx: Tx,
  caller: TenantCaller,
  group: Group,
  change: Partial<Pick<Group, "displayName" | "externalId" | "hiddenBy">>,
): Promise<void> {
  const audited = ({ displayName, externalId, hiddenBy }: Group) => ({ displayName, externalId, hiddenBy });
  const [before, after] = [audited(group), audited({ ...group, ...change })];
  if (JSON.stringify(before) === JSON.stringify(after)) return;
  const { displayName, externalId, hiddenBy } = after;
  await tx`
    insert into scim_groups (role_id, display_name, external_id, hidden_by)
    values (${group.id}, nullif(${displayName}, ${group.name}), ${externalId}, ${hiddenBy})
    on conflict (role_id) do update set display_name = excluded.display_name, external_id = excluded.external_id,
      hidden_by = excluded.hidden_by`;
  await tx`update roles set version = version + 1, updated_at = now() where id = ${group.id}`;
  await recordAudit(tx, caller, "role.group", group.id, {
    before,
    after,
  });
}
