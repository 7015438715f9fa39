import assert from "node:assert/strict";
import { decodeJwt } from "jose";
import { OpenIdTest } from "./openid.ts";
import { withToken } from "./people.ts";

const world = await OpenIdTest.start();
Deno.test.afterAll(() => world.stop());
const { t, provider, run, known } = world;

Deno.test("a tenant that requires a second factor accepts a provider's sign-in only if the ID token says so", async () => {
  const { user, login } = await known();
  await t.systemAdmin.put(`/api/v1/tenants/${user.tenantId}`, { requireSecondFactor: true });
  const signInWith = async (amr: unknown) => {
    provider.tamper = async (tokens) => {
      tokens.id_token = await provider.signIdToken({ ...decodeJwt(String(tokens.id_token)), amr });
    };
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
