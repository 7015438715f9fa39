// Rules for every route, checked on the declared routes themselves.
import assert from "node:assert/strict";
import { z } from "zod";
import { newId } from "../../../domain/shared/ids.ts";
import { ENDPOINTS } from "../../../routes/endpoints.ts";
import { HttpClient } from "../../support/http.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared();

const NAMES = new Set(["name", "firstName", "lastName", "key", "category"]);
/** A message's category is an identifier from the product's code; the name of a domain is an address. */
const WITHOUT_NAMES = new Set(["sendNotification", "addSignInDomain"]);

Deno.test("names are stored in NFC, need a visible character and have no control characters, on every route", () => {
  const invisible = ["\u200b", "\ufeff", "\u00ad", "\u0001", "\u200b \u2060", "\u3164", "\u2800"];
  let looked = 0;
  for (const { id, method, body, content } of ENDPOINTS) {
    const taken = body ?? content?.json;
    if (method === "get" || !(taken instanceof z.ZodObject) || WITHOUT_NAMES.has(id)) continue;
    for (const [name, schema] of Object.entries(taken.shape)) {
      if (!NAMES.has(name)) continue;
      looked++;
      for (const text of invisible) {
        const read = z.safeParse(schema, text);
        assert.ok(!read.success || read.data === "", `${id}.${name} ${JSON.stringify(text)}`);
      }
      for (const text of ["Ana\r\nBcc: all", "a\tb", "a\u0007b", "a\u0085b", "a\0b"]) {
        assert.ok(!z.safeParse(schema, text).success, `${id}.${name} ${JSON.stringify(text)}`);
      }
      assert.equal(z.parse(schema, " Cafe\u0301 "), "Caf\u00e9", `${id}.${name}`);
    }
  }
  assert.ok(looked >= 15, `${looked} names`);
});

Deno.test("two Unicode forms of a name are the same role, and both find it", async () => {
  const admin = await t.actor({ role: "Admin" });
  const create = (name: string) => admin.post("/api/v1/roles", { name, permissionIds: [] });
  const made = await create("Ge\u0301rant");
  assert.deepEqual([made.status, made.body.name], [201, "G\u00e9rant"]);
  assert.equal((await create("G\u00e9rant")).body.code, "ROLE_ALREADY_EXISTS");
  const invisible = await create("\u200b\u00ad");
  assert.deepEqual(invisible.body.errors, ["name: expected at least one visible character"]);
  const holder = await t.actor({ tenantId: admin.tenantId ?? "" });
  await admin.put(`/api/v1/users/${holder.userId}/roles`, { roleIds: [made.body.id] });
  for (const roleName of ["Ge\u0301rant", "G\u00e9rant"]) {
    const { body } = await admin.get(`/api/v1/users?roleName=${encodeURIComponent(roleName)}`);
    assert.deepEqual(body.items.map(({ id }: { id: string }) => id), [holder.userId]);
  }
});

Deno.test("a JSON body null counts as missing where the body is optional", async () => {
  const actor = await t.actor({ permissions: [] });
  const purged = await actor.post("/api/v1/dead-letter-jobs/purge", "null");
  assert.deepEqual([purged.status, purged.body], [200, { purged: 0 }]);
  assert.equal((await actor.post("/api/v1/dead-letter-jobs/purge", "[]")).status, 400);
  assert.equal((await actor.post("/api/v1/jobs", "null")).status, 400);
});

Deno.test("a lookup by ids returns all of them if no pageSize is given", async () => {
  const tenantId = await t.tenant();
  const admin = await t.actor({ role: "Admin", tenantId });
  const roles = Array.from({ length: 21 }, () => ({ id: newId(), tenant_id: tenantId, name: newId() }));
  const tenants = Array.from({ length: 21 }, () => ({ id: newId(), name: newId(), type: "Standard" }));
  const { sql } = t.steward.platform;
  await sql`insert into roles ${sql(roles)}`;
  await sql`insert into tenants ${sql(tenants)}`;
  const lookups: [caller: typeof admin, path: string, of: { id: string }[], pageSize: number][] = [
    [admin, "/api/v1/roles/lookup", roles, 50],
    [admin, "/api/v1/roles/with-permissions", roles, 100],
    [t.systemAdmin, `/api/v1/admin/tenants/${tenantId}/roles/lookup`, roles, 50],
    [t.systemAdmin, "/api/v1/tenants/lookup", tenants, 50],
    [t.systemAdmin, "/api/v1/admin/tenants/lookup", tenants, 50],
  ];
  for (const [caller, path, of, pageSize] of lookups) {
    const named = `${path}?ids=${of.map(({ id }) => id)}`;
    const all = (await caller.get(named)).body;
    assert.deepEqual([all.items.length, all.pageSize], [21, pageSize], path);
    assert.equal((await caller.get(`${named}&pageSize=7`)).body.items.length, 7, path);
  }
});

Deno.test("a key that names another tenant is rejected; a user's token of a tenant ignores the header", async () => {
  const maker = await t.actor({ permissions: ["manage:api-keys", "read:users"] });
  const { body } = await maker.post("/api/v1/api-keys", { name: "n", permissions: ["read:users"] });
  const machine = new HttpClient(t.url, body.key);
  const other = { "x-tenant-id": await t.tenant() };
  const refused = await machine.get("/api/v1/users", other);
  assert.deepEqual([refused.status, refused.body.code], [403, "TENANT_FORBIDDEN"]);
  const own = { "x-tenant-id": maker.tenantId?.toUpperCase() ?? "" };
  assert.equal((await machine.get("/api/v1/users", own)).status, 200);
  assert.equal((await machine.get("/api/v1/users")).status, 200);
  const ignored = await maker.get("/api/v1/users", other);
  assert.deepEqual([ignored.status, ignored.body.items[0].id], [200, maker.userId]);
});

Deno.test("of two first writes of an object that exists once per tenant, with the same ETag, one succeeds", async () => {
  const actor = await t.actor({ permissions: ["send:notifications"] });
  const settings = "/api/v1/notification-settings";
  const unset = (await actor.get(settings)).headers.get("etag") ?? "";
  const set = (defaultLocale: string) => actor.put(settings, { defaultLocale }, { "if-match": unset });
  const both = await Promise.all([set("pt"), set("de")]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 412]);
});
