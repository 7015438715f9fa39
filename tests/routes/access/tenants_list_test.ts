import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import type { HttpClient } from "../../support/http.ts";
import { setupShared } from "../../support/setup.ts";
import { idOf, names } from "./answers.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());

const { sql } = t.steward.platform;
const TENANTS = "/api/v1/tenants";
const readsTenants = (tenantId: string) => t.actor({ tenantId, permissions: ["read:tenants"] });
const create = (body: Record<string, unknown>, by: HttpClient = t.systemAdmin) => by.post(TENANTS, body);

Deno.test("lists filter before they count; search knows neither case nor accents nor wildcards", async () => {
  const tag = crypto.randomUUID().slice(0, 8);
  const group = await idOf(create({ name: `${tag} Ítaca_50%`, type: "Group" }));
  await idOf(create({ name: `${tag} beta`, parentTenantId: group, isActive: false }));
  await idOf(create({ name: `${tag} Álamo`, maxUsers: 1 }));
  const gone = await idOf(create({ name: `${tag} gone` }));
  await t.systemAdmin.delete(`${TENANTS}/${gone}`);
  const list = (query: string) => t.systemAdmin.get(`${TENANTS}?search=${tag}&${query}`);

  assert.equal((await list("")).body.totalCount, 3);
  const all = await list("includeDeleted=true");
  assert.equal(all.body.totalCount, 4);
  for (const { id, deletedAt } of all.body.items) {
    assert.equal(deletedAt !== null, id === gone, "deleted ones are marked");
  }
  assert.deepEqual(names(await list("isActive=false")), [`${tag} beta`]);
  assert.deepEqual(names(await list("type=GROUP")), [`${tag} Ítaca_50%`]);
  assert.deepEqual(names(await list("hierarchyScope=groups")), [`${tag} Ítaca_50%`]);
  assert.deepEqual(names(await list("hierarchyScope=grouped")), [`${tag} beta`]);
  assert.deepEqual(names(await list("hierarchyScope=standalone")), [`${tag} Álamo`]);
  assert.deepEqual(names(await list(`parentTenantId=${group}`)), [`${tag} beta`]);
  const search = async (text: string) =>
    names(await t.systemAdmin.get(`${TENANTS}?search=${encodeURIComponent(text)}`));
  assert.deepEqual(await search(`${tag} ITÁCA`), [`${tag} Ítaca_50%`], "neither case nor accents count");
  await idOf(create({ name: `${tag} Москва` }));
  assert.deepEqual(await search(`${tag} МОСКВА`), [`${tag} Москва`], "in any script");
  assert.deepEqual(await search("_50%"), [`${tag} Ítaca_50%`], "wildcards stand for themselves");
  assert.deepEqual(await search(`${tag}％`), [], "full-width ones too");
  assert.deepEqual(await search("\\"), []);
});

Deno.test("the lookup accepts ids repeated or comma-separated", async () => {
  const a = await t.tenant({ name: "Lookup A" });
  const b = await t.tenant({ name: "Lookup B" });
  const expected = [
    { id: a, name: "Lookup A", type: "Standard", isActive: true, parentTenantId: null },
    { id: b, name: "Lookup B", type: "Standard", isActive: true, parentTenantId: null },
  ];
  for (const query of [`ids=${a},${b},${newId()}`, `ids=${a}&ids=${b}&ids=${a}`, "search=lookup"]) {
    assert.deepEqual((await t.systemAdmin.get(`${TENANTS}/lookup?${query}`)).body.items, expected);
  }
});

Deno.test("user counts follow links and users, and the summary adds them up", async () => {
  const before = (await t.systemAdmin.get(`${TENANTS}/summary`)).body;
  const id = await idOf(create({ name: "Counted", maxUsers: 2 }));
  const [one, two] = [await readsTenants(id), await readsTenants(id)];
  const userCount = async () => (await t.systemAdmin.get(`${TENANTS}/${id}`)).body.userCount;
  assert.equal(await userCount(), 2);
  const after = (await t.systemAdmin.get(`${TENANTS}/summary`)).body;
  assert.equal(after.totalTenants, before.totalTenants + 1);
  assert.equal(after.activeTenants, before.activeTenants + 1);
  assert.equal(after.standaloneTenants, before.standaloneTenants + 1);
  assert.equal(after.totalUsers, before.totalUsers + 2);
  assert.equal(after.tenantsAtCapacity, before.tenantsAtCapacity + 1);
  await sql`update user_tenants set is_active = false where user_id = ${one.userId}`;
  assert.equal(await userCount(), 1);
  await sql`update user_tenants set is_active = true, is_default = false where user_id = ${one.userId}`;
  assert.equal(await userCount(), 2);
  await sql`update users set deleted_at = now() where id = ${two.userId}`;
  assert.equal(await userCount(), 1);
  await sql`delete from user_tenants where tenant_id = ${id}`;
  assert.equal(await userCount(), 0);
});
