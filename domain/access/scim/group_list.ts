import type { Sql } from "../../../infra/postgres/postgres.ts";
import { countRows } from "../../shared/lists.ts";
import { type Column, conditionOf, type Filterable } from "./conditions.ts";
import { parseFilter } from "./filter.ts";
import { groupColumns, type GroupRow, groupsOf, readMembers, toGroup } from "./groups.ts";
import { type ListRequest, orderOf, type ResourceList } from "./lists.ts";
import { GROUPS } from "./schema.ts";

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
    select ${groupColumns(q, withMembers)} from ${from} order by ${order} limit ${count} offset ${
    startIndex - 1
  }`;
  const members = withMembers ? await readMembers(q, rows.map(({ id }) => id)) : [];
  const membersOf = Map.groupBy(members, ({ roleId }) => roleId);
  return {
    total: await countRows(q, from),
    resources: rows.map((row) => toGroup(row, withMembers ? membersOf.get(row.id) ?? [] : null, base)),
  };
}
