import type { Sql, SqlPart } from "../../../infra/postgres/postgres.ts";
import { type Column, conditionOf, type Filterable } from "./conditions.ts";
import { parseFilter } from "./filter.ts";
import { type ListRequest, orderOf, type ResourceList } from "./lists.ts";
import { USERS } from "./schema.ts";
import { toResource, type UserRow } from "./user_resource.ts";
import { userColumns, usersOf } from "./users.ts";
import { countList } from "../../shared/lists.ts";

const text = (sql: Column["sql"]): Column => ({ kind: "text", key: "same_text", sql });

const COLUMNS: Record<string, Column> = {
  id: { kind: "id", sql: (q) => q`u.id` },
  userName: { kind: "text", key: "mail_key", sql: (q) => q`u.email` },
  externalId: { kind: "text", sql: (q) => q`l.external_id` },
  active: { kind: "boolean", sql: (q) => q`l.is_active` },
  "name.givenName": text((q) => q`u.first_name`),
  "name.familyName": text((q) => q`u.last_name`),
  displayName: text((q) =>
    q`coalesce(s.attributes ->> 'displayName', nullif(trim(u.first_name || ' ' || u.last_name), ''), u.email)`
  ),
  "meta.created": { kind: "time", sql: (q) => q`u.created_at` },
  "meta.lastModified": { kind: "time", sql: (q) => q`u.updated_at` },
};

/** Columns of one of the user's addresses, `e`. */
const EMAIL: Record<string, Column> = {
  value: { kind: "text", key: "mail_key", sql: (q) => q`(e ->> 'value')` },
  type: text((q) => q`(e ->> 'type')`),
  primary: { kind: "boolean", sql: (q) => q`coalesce((e ->> 'primary')::boolean, false)` },
};

const FILTERABLE: Filterable = {
  columns: COLUMNS,
  any: {
    emails: (q, inner) =>
      q`exists (select from jsonb_array_elements(coalesce(s.attributes -> 'emails',
        jsonb_build_array(jsonb_build_object('value', u.email, 'type', 'work', 'primary', true)))) e
        where ${inner((name) => EMAIL[name])})`,
  },
};

/** Lists the users of a tenant. @throws invalidFilter, invalidPath (an order by what has no column) */
export async function listScimUsers(
  q: Sql,
  { base, tenantId }: { base: string; tenantId: string },
  request: ListRequest,
): Promise<ResourceList> {
  const { filter, startIndex, count } = request;
  const chosen: SqlPart = filter === undefined
    ? q`true`
    : conditionOf(q, parseFilter(USERS, filter), FILTERABLE);
  const from = q`${usersOf(q, tenantId)} and ${chosen}`;
  const order = orderOf(q, USERS, COLUMNS, request, q`u.id`);
  const rows = count === 0 ? [] : await q<UserRow[]>`
    select ${userColumns(q)} from ${from} order by ${order} limit ${count} offset ${startIndex - 1}`;
  return { total: await countList(q, from), resources: rows.map((row) => toResource(row, base)) };
}
