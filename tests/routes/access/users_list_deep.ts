// Lists of users that are too large to be sorted as a whole: they are read from the nearer end.
import assert from "node:assert/strict";
import { setupFile } from "../../support/setup.ts";
import { column } from "./answers.ts";
import { catalogRole, newUser } from "./users.ts";

const USERS = 2_100;
const t = await setupFile({ JOB_CONCURRENCY: "0" });
const { sql } = t;

Deno.test("large lists have the same pages from both ends, and changes count at once", async () => {
  const by = await t.actor({ permissions: ["read:users", "create:users", "delete:users"] });
  await sql`with made as (
      insert into users (id, email, first_name, is_active)
      select gen_random_uuid(), n || '@large-list.test', 'N' || n % 7, n % 50 > 0
      from generate_series(1, ${USERS}::int) n returning id)
    insert into user_tenants (user_id, tenant_id) select id, ${by.tenantId} from made`;
  await sql`analyze users, user_tenants`; // connections keep plans made while the tables were small
  const page = (query: string) => by.get(`/api/v1/users?${query}`);
  const walk = async (query: string, direction: string) => {
    const ids: string[] = [];
    for (let at = 1, isLast = false; !isLast; at++) {
      const found = await page(`${query}&pageSize=100&page=${at}&sortDirection=${direction}`);
      ids.push(...column(found, "id"));
      isLast = !found.body.hasNext;
    }
    return ids;
  };
  for (const query of ["sortBy=firstName", "search=large&isActive=true&sortBy=email"]) {
    const forwards = await walk(query, "Ascending");
    assert.deepEqual(forwards, (await walk(query, "Descending")).toReversed(), query);
    assert.ok(new Set(forwards).size > 2_000);
  }
  const total = async () => (await page("isActive=true")).body.totalCount;
  const before = await total();
  const created = await by.post("/api/v1/users", newUser());
  assert.equal(await total(), before + 1);
  await by.delete(`/api/v1/users/${created.body.id}`);
  assert.equal(await total(), before);
});

Deno.test("totals of both sides of every state equal the numbers of rows, with inactive links and deleted users", async () => {
  const by = await t.actor({ permissions: ["read:users"] });
  const { tenantId } = by;
  await sql`with made as (
      insert into users (id, email, is_active, lockout_expires_at, deleted_at)
      select gen_random_uuid(), n || '@states.test', n % 50 > 0,
        case n % 40 when 2 then now() + interval '1 day' when 3 then now() - interval '1 day' end,
        case when n % 60 = 0 then now() end
      from generate_series(1, ${2 * USERS}::int) n returning id, email)
    insert into user_tenants (user_id, tenant_id, is_active)
      select id, ${tenantId}, split_part(email, '@', 1)::int % 70 > 0 from made`;
  const ofStates = sql`select u.id from users u where email like '%@states.test' and deleted_at is null`;
  await sql`insert into user_factors (id, user_id, kind, name, secret, confirmed_at)
    select gen_random_uuid(), id, 'totp', 'app', 's', case when substr(id::text, 1, 1) < '8' then now() end
    from (${ofStates} limit 90) u`;
  for (const [name, share] of [["Admin", "1"], ["Visitor", "f"]] as const) {
    await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
      select id, ${tenantId}, ${await catalogRole(
      t,
      name,
      tenantId,
    )} from (${ofStates}) u where substr(id::text, 1, 1) <= ${share}`;
  }
  await sql`analyze users, user_tenants`;
  const holds = (name: string) =>
    sql`exists (select from user_tenant_roles h join roles r on r.id = h.role_id
      where h.user_id = u.id and h.tenant_id = ${tenantId} and r.name = ${name})`;
  const states = {
    "": sql`true`,
    "isActive=true": sql`u.is_active`,
    "isActive=false": sql`not u.is_active`,
    "isLockedOut=true": sql`u.lockout_expires_at > now()`,
    "isLockedOut=false": sql`coalesce(u.lockout_expires_at <= now(), true)`,
    "hasSecondFactor=true": sql`u.id in (select user_id from user_factors where confirmed_at is not null)`,
    "hasSecondFactor=false":
      sql`u.id not in (select user_id from user_factors where confirmed_at is not null)`,
    "isAdministrator=true": holds("Admin"),
    "isAdministrator=false": sql`not ${holds("Admin")}`,
    "roleName=visitor": holds("Visitor"),
  };
  for (const [query, state] of Object.entries(states)) {
    for (const includeDeleted of [false, true]) {
      const live = includeDeleted ? sql`true` : sql`u.deleted_at is null`;
      const [{ total } = { total: 0 }] = await sql<{ total: number }[]>`
        select count(*) as total from user_tenants l join users u on u.id = l.user_id
        where l.tenant_id = ${tenantId} and ${live} and ${state}`;
      const found = await by.get(`/api/v1/users?${query}&includeDeleted=${includeDeleted}`);
      assert.equal(found.body.totalCount, total, `${query} includeDeleted=${includeDeleted}`);
    }
  }
});
