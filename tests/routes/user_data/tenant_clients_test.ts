import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { authorizeUrl, codeOf, makeClient, redeem, signedInBrowser } from "../oauth/flow.ts";
import { pruneAudiencesJob } from "../../../domain/oauth/pruning.ts";
import { finish } from "../../support/maintenance.ts";
import { ended } from "./support.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const admin = t.systemAdmin;

Deno.test("a tenant is erased with its OAuth clients, also those that users of other tenants signed in to", async () => {
  const name = `Walrus${crypto.randomUUID().slice(0, 8)}`;
  const [erased, other] = [await t.tenant({ name }), await t.tenant()];
  const maker = await t.actor({ tenantId: erased, permissions: ["manage:oauth-clients"] });
  const client = await makeClient(maker, { firstParty: false });
  const { browser, who } = await signedInBrowser(t, { links: [other, erased] });
  const page = await browser.show(authorizeUrl(t, client, { scope: "openid offline_access" }));
  const to = await browser.submit(page, "allowed");
  assert.ok("left" in to);
  assert.equal((await redeem(t, client, codeOf(to.left))).status, 200);
  assert.equal((await admin.put(`/api/v1/tenants/${erased}`, { isActive: false })).status, 200);
  const asked = await admin.post(`/api/v1/admin/tenants/${erased}/erase`, { reason: "left", name });
  assert.equal(asked.status, 202, JSON.stringify(asked.body));
  await ended(admin, asked.body.statusUrl);
  const { sql } = t.steward.platform;
  assert.equal((await sql`select from oauth_clients where id = ${client.id}`).length, 0);
  const taken = () => makeClient(admin, { audience: client.audience });
  await assert.rejects(taken, /OAUTH_AUDIENCE_CONFLICT/, "its tokens may still be valid");
  assert.deepEqual(await finish(pruneAudiencesJob, t.steward.platform), { audiences: 0 });
  await sql`update oauth_audiences set left_at = now() - interval '25 hours' where audience = ${client.audience}`;
  assert.deepEqual(await finish(pruneAudiencesJob, t.steward.platform), { audiences: 1 });
  await taken();
  assert.equal((await sql`select from users where id = ${who.id} and erased_at is null`).length, 1);
});
