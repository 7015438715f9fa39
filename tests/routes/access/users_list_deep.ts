// A list of users that is too large to be sorted as a whole: it is read from the nearer end.
import assert from "node:assert/strict";
import { setup } from "../../support/setup.ts";
import { column } from "./answers.ts";
import { newUser } from "./users.ts";

const USERS = 2_100;
const t = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

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
