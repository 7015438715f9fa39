// Rules for every route, checked on the declared routes themselves.
import assert from "node:assert/strict";
import { z } from "zod";
import { newId } from "../../../domain/shared/ids.ts";
import { ENDPOINTS } from "../../../routes/endpoints.ts";
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
