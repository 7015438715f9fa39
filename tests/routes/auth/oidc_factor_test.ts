import assert from "node:assert/strict";
import { decodeJwt } from "jose";
import { OpenIdTest } from "./openid.ts";
import { addApp, finish } from "./factors.ts";
import { withToken } from "./people.ts";

const world = await OpenIdTest.start();
Deno.test.afterAll(() => world.stop());
const { t, provider, run, known } = world;
const { sql } = t.steward.platform;
Deno.test.beforeEach(() => void (provider.tamper = null));

/** The provider says from now on how it signed users in. */
function saying(amr: unknown): void {
  provider.tamper = async (tokens) => {
    tokens.id_token = await provider.signIdToken({ ...decodeJwt(String(tokens.id_token)), amr });
  };
}

/** A user of a tenant that requires a second factor. */
async function strictUser() {
  const { user, login } = await known();
  await t.systemAdmin.put(`/api/v1/tenants/${user.tenantId}`, { requireSecondFactor: true });
  return { ...user, login };
}

Deno.test("a tenant that requires a second factor accepts a provider's sign-in only if the ID token says so", async () => {
  const { login } = await strictUser();
  const signInWith = async (amr: unknown) => {
    saying(amr);
    const { status, body } = await run(login);
    assert.equal(status, 200, JSON.stringify(body));
    const me = await withToken(t, body.accessToken).get("/auth/me");
    return me.status === 200 ? 200 : me.body.code;
  };
  for (const amr of [undefined, [], ["pwd"], "mfa", ["not-mfa"]]) {
    assert.equal(await signInWith(amr), "SECOND_FACTOR_REQUIRED", JSON.stringify(amr));
  }
  assert.equal(await signInWith(["pwd", "mfa"]), 200);
});

Deno.test("who removes the last factor is limited, unless the provider itself proved two factors", async () => {
  const { id, login } = await strictUser();
  const now = Date.now;
  const state = async (token: string) => (await withToken(t, token).get("/auth/factors")).body.isLimited;

  const added = await run(login);
  const client = withToken(t, added.body.accessToken);
  assert.equal(await state(added.body.accessToken), true);
  const { app, factorId } = await addApp(client, { now });
  assert.equal(await state(added.body.accessToken), false);

  const asked = await run(login);
  const both = await finish(t, asked.body.factorToken, { code: app.code() });
  assert.equal(both.status, 200);
  saying(["mfa"]);
  const proved = await run(login);
  const stepped = await withToken(t, proved.body.accessToken).post("/auth/step-up", { code: app.code(1) });
  assert.deepEqual(stepped.body.amr, ["fed", "mfa", "otp"]);

  await sql`update user_factors set last_step = null where user_id = ${id}`;
  const removed = await client.send("DELETE", `/auth/factors/${factorId}`, { code: app.code() });
  assert.equal(removed.status, 204, JSON.stringify(removed.body));
  assert.equal(await state(added.body.accessToken), true, "the factor was added in the session");
  assert.equal(await state(both.body.accessToken), true, "the factor finished the sign-in");
  assert.equal(await state(proved.body.accessToken), false, "the provider proved it");
});
