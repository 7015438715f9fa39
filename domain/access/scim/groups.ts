import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { Problem } from "../../problems/problem.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { nameOrEmail } from "../../rights/user_lookup.ts";
import { isUuid } from "../../shared/ids.ts";
import { countRows } from "../../shared/lists.ts";
import { isObject } from "../../shared/shapes.ts";
import { requireTag } from "../../shared/version.ts";
import { createRole } from "../roles/role_changes.ts";
import { roleNotFound } from "../roles/roles.ts";
import { lockLinkTargets } from "../users/link_targets.ts";
import { changeRoleHolders } from "../users/role_holders.ts";
import { parseFilter } from "./filter.ts";
import { type Group, groupName, nameTaken, requireFreeName, writeGroup } from "./group_mappings.ts";
import {
  type Column,
  conditionOf,
  type Filterable,
  type ListRequest,
  orderOf,
  type ResourceList,
} from "./lists.ts";
import { GROUP, GROUPS, PATH, scimProblem } from "./schema.ts";
import type { ScimPlatform, Tagged } from "./users.ts";
import { externalIdOf, type Resource, validText } from "./values.ts";

/** A role of the tenant as a group. */
interface GroupRow extends Group {
  createdAt: Date;
  updatedAt: Date;
  version: number;
  /** Number and hash of the holders, for the version of the resource; null: not read. */
  holders: string | null;
}

interface Member {
  roleId: string;
  value: string;
  display: string;
}

/** Columns of `GroupRow` over `roles r` and `scim_groups g`. @param withHolders reads all holders */
const groupColumns = (q: Sql, withHolders: boolean) =>
  q`r.id, r.name, coalesce(g.display_name, r.name) as display_name, g.external_id,
  g.hidden_by, r.created_at, r.updated_at, r.version, ${
    withHolders
      ? q`(select count(*) || '.' || coalesce(bit_xor(hashtextextended(h.user_id::text, 0)), 0)
        from user_tenant_roles h where h.role_id = r.id)`
      : q`null`
  } as holders`;

/** Tables of `groupColumns`: the roles of the tenant that are groups. */
const groupsOf = (q: Sql, tenantId: string) =>
  q`roles r left join scim_groups g on g.role_id = r.id
  where r.tenant_id = ${tenantId} and r.deleted_at is null and g.hidden_by is null`;

const tagOf = ({ version, holders }: GroupRow): string => `"${version}.${holders}"`;

async function readRow(q: Sql, tenantId: string, id: string): Promise<GroupRow> {
  const [row] = isUuid(id)
    ? await q<GroupRow[]>`select ${groupColumns(q, true)} from ${groupsOf(q, tenantId)} and r.id = ${id}`
    : [];
  if (!row) throw roleNotFound(id);
  return row;
}

/** Reads the holders of roles. */
const readMembers = (q: Sql, roleIds: string[]): Promise<Member[]> =>
  q<Member[]>`
    select h.role_id, h.user_id as value, ${nameOrEmail(q, "u")} as display
    from user_tenant_roles h join users u on u.id = h.user_id
    where h.role_id = any(${roleIds}::uuid[]) order by h.user_id`;

/** The SCIM resource of a role. @param members null: not asked for */
function toGroup(row: GroupRow, members: Member[] | null, base: string): Resource {
  const { id, displayName, externalId, createdAt, updatedAt, holders } = row;
  return {
    schemas: [GROUP],
    id,
    ...externalId === null ? {} : { externalId },
    displayName,
    ...members && members.length > 0
      ? {
        members: members.map(({ value, display }) => ({
          value,
          $ref: `${base}${PATH}/Users/${value}`,
          type: "User",
          display,
        })),
      }
      : {},
    meta: {
      resourceType: "Group",
      created: createdAt,
      lastModified: updatedAt,
      location: `${base}${PATH}/Groups/${id}`,
      ...holders === null ? {} : { version: `W/${tagOf(row)}` },
    },
  };
}

/** Reads a group of the tenant. @throws ROLE_NOT_FOUND */
export async function readGroup(
  q: Sql,
  { base, tenantId, withMembers }: { base: string; tenantId: string; withMembers: boolean },
  id: string,
): Promise<Tagged> {
  const row = await readRow(q, tenantId, id);
  const members = withMembers ? await readMembers(q, [id]) : null;
  return { resource: toGroup(row, members, base), tag: tagOf(row), ignored: [] };
}

const nameOf = ({ displayName }: Resource): string => validText(groupName, displayName, "displayName");

/** The ids of the members of a resource, without repetition. @throws invalidValue, also for groups in groups */
function memberIds({ members }: Resource): Set<string> {
  const given = Array.isArray(members) ? members.filter(isObject) : [];
  const ids = given.map(({ value, type }) => {
    const isUser = type === undefined || String(type).toLowerCase() === "user";
    if (isUser && typeof value === "string" && isUuid(value)) return value.toLowerCase();
    throw scimProblem(
      "invalidValue",
      `members: expected the ids of users, found ${String(value).slice(0, 100)}.`,
    );
  });
  return new Set(ids);
}

/**
 * Makes a group: a role of its name without permissions, which administrators add. A role whose group was deleted becomes
 * a group again.
 * @throws ROLE_ALREADY_EXISTS, ROLE_ASSIGNMENT_ESCALATION_BLOCKED, and invalidValue
 */
export async function createGroup(
  p: ScimPlatform,
  caller: TenantCaller,
  resource: Resource,
): Promise<Tagged> {
  const { tenantId } = caller;
  const [displayName, given] = [nameOf(resource), memberIds(resource)];
  return await transact(p.sql, async (tx) => {
    await lockLinkTargets(tx, [], [tenantId]);
    const [former] = await tx<Group[]>`
      select ${groupColumns(tx, false)} from roles r left join scim_groups g on g.role_id = r.id
      where r.tenant_id = ${tenantId} and r.deleted_at is null
        and same_text(coalesce(g.display_name, r.name)) = same_text(${displayName})
      order by g.hidden_by nulls first limit 1`;
    if (former && former.hiddenBy !== "directory") throw nameTaken(displayName);
    const role = { name: displayName, description: null, permissionIds: [] };
    const id = former?.id ?? (await createRole({ ...p, sql: tx }, caller, role)).value.id;
    const before = former ?? { id, name: displayName, displayName, externalId: null, hiddenBy: null };
    await writeGroup(tx, caller, before, { externalId: externalIdOf(resource), hiddenBy: null });
    await changeMembers(p, tx, caller, id, { given: [...given], taken: [] });
    return await readGroup(tx, { base: p.baseUrl(), tenantId, withMembers: true }, id);
  });
}

/**
 * Changes name, external id and members of a group. The name is that of the group: the role keeps its own.
 * @param change returns the wanted resource for the present one
 * @throws ROLE_NOT_FOUND, PRECONDITION_FAILED, ROLE_ALREADY_EXISTS, those of `changeRoleHolders`, and those of `change`
 */
export async function changeGroup(
  p: ScimPlatform,
  caller: TenantCaller,
  { id, ifMatch, withMembers }: { id: string; ifMatch: string | null; withMembers: boolean },
  change: (present: Resource) => Resource,
): Promise<Tagged> {
  const { tenantId } = caller;
  return await transact(p.sql, async (tx) => {
    const row = await lockGroup(tx, tenantId, id, ifMatch);
    const holders = await readMembers(tx, [id]);
    const members = holders.map(({ value }) => ({ value }));
    const after = change({ ...toGroup(row, null, ""), members });
    await rename(tx, caller, row, {
      displayName: nameOf(after),
      externalId: externalIdOf(after) ?? row.externalId,
    });
    const [present, wanted] = [new Set(holders.map(({ value }) => value)), memberIds(after)];
    const [given, taken] = [[...wanted.difference(present)], [...present.difference(wanted)]];
    await changeMembers(p, tx, caller, id, { given, taken });
    return await readGroup(tx, { base: p.baseUrl(), tenantId, withMembers }, id);
  });
}

/** Locks the tenant, whose lock all writers of links hold, and the role. */
async function lockGroup(tx: Tx, tenantId: string, id: string, ifMatch: string | null): Promise<GroupRow> {
  if (!isUuid(id)) throw roleNotFound(id);
  await lockLinkTargets(tx, [{ tenantId, roleIds: [id] }]);
  const row = await readRow(tx, tenantId, id);
  requireTag(ifMatch, tagOf(row));
  return row;
}

async function rename(
  tx: Tx,
  caller: TenantCaller,
  row: GroupRow,
  wanted: { displayName: string; externalId: string | null },
): Promise<void> {
  const { displayName, externalId } = wanted;
  if (displayName === row.displayName && externalId === row.externalId) return;
  await requireFreeName(tx, caller.tenantId, row.id, displayName);
  await writeGroup(tx, caller, row, wanted);
}

/** Changes holders of the role. A user whom the tenant does not have is a wrong value, because the path names the group. */
async function changeMembers(
  p: ScimPlatform,
  tx: Tx,
  caller: TenantCaller,
  roleId: string,
  wanted: { given: string[]; taken: string[] },
): Promise<void> {
  try {
    await changeRoleHolders(p, tx, caller, roleId, wanted);
  } catch (refusal) {
    if (!(refusal instanceof Problem) || refusal.code !== "USER_NOT_FOUND") throw refusal;
    throw scimProblem("invalidValue", `members: ${refusal.message}`);
  }
}

/**
 * Deletes a group: its members lose the role, and the role is no group any more. It stays for administrators, whose
 * permissions it has.
 * @throws ROLE_NOT_FOUND, PRECONDITION_FAILED, and those of `changeRoleHolders`
 */
export async function deleteGroup(
  p: ScimPlatform,
  caller: TenantCaller,
  id: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const row = await lockGroup(tx, caller.tenantId, id, ifMatch);
    const holders = await readMembers(tx, [id]);
    await changeMembers(p, tx, caller, id, { given: [], taken: holders.map(({ value }) => value) });
    await writeGroup(tx, caller, row, { externalId: null, hiddenBy: "directory" });
  });
}

const COLUMNS: Record<string, Column> = {
  id: { kind: "id", sql: (q) => q`r.id` },
  displayName: { kind: "text", key: "same_text", sql: (q) => q`coalesce(g.display_name, r.name)` },
  externalId: { kind: "text", sql: (q) => q`g.external_id` },
  "meta.created": { kind: "time", sql: (q) => q`r.created_at` },
  "meta.lastModified": { kind: "time", sql: (q) => q`r.updated_at` },
};

const MEMBER: Record<string, Column> = { value: { kind: "id", sql: (q) => q`h.user_id` } };

const FILTERABLE: Filterable = {
  columns: COLUMNS,
  any: {
    members: (q, inner) =>
      q`exists (select from user_tenant_roles h where h.role_id = r.id and ${inner((name) => MEMBER[name])})`,
  },
};

/** Lists the groups of a tenant. @throws invalidFilter, invalidPath (an order by what has no column) */
export async function listGroups(
  q: Sql,
  { base, tenantId, withMembers }: { base: string; tenantId: string; withMembers: boolean },
  request: ListRequest,
): Promise<ResourceList> {
  const { filter, startIndex, count } = request;
  const chosen = filter === undefined ? q`true` : conditionOf(q, parseFilter(GROUPS, filter), FILTERABLE);
  const from = q`${groupsOf(q, tenantId)} and ${chosen}`;
  const order = orderOf(q, GROUPS, COLUMNS, request, q`r.id`);
  const rows = count === 0 ? [] : await q<GroupRow[]>`
    select ${groupColumns(q, withMembers)} from ${from}
    order by ${order} limit ${count} offset ${startIndex - 1}`;
  const members = withMembers ? await readMembers(q, rows.map(({ id }) => id)) : [];
  const membersOf = Map.groupBy(members, ({ roleId }) => roleId);
  return {
    total: await countRows(q, from),
    resources: rows.map((row) => toGroup(row, withMembers ? membersOf.get(row.id) ?? [] : null, base)),
  };
}
