import assert from "node:assert/strict";
import { decodeJwt } from "jose";
import { newId } from "../../../domain/shared/ids.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import { OpenIdTest } from "./openid.ts";
import { addApp, finish } from "./factors.ts";
import { withToken } from "./people.ts";

const world = await OpenIdTest.start();
const { t, provider, begin, run, known } = world;
const { sql } = t.steward.platform;
const INVALID = "400 OIDC_HANDOVER_INVALID";

const exchange = (code?: string) => t.nobody.post("/api/v1/auth/oidc/exchange", { code });

Deno.test("with returnTo the browser is redirected with a code, which can be exchanged for tokens once", async () => {
  const { user, login } = await known();
  const returnTo = "https://app.test/signed-in?next=%2Fhome";
  const answer = await run(login, "corp", { returnTo: `${returnTo}#old` });
  assert.equal(answer.status, 303);
  const [before, code] = answer.location.split("#code=");
  assert.equal(before, returnTo);
  const answers = await Promise.all([1, 2].map(() => exchange(code)));
  const [good, ...more] = answers.filter(({ status }) => status === 200);
  assert.deepEqual([good?.body.user.id, more], [user.id, []]);
  await accepted(withToken(t, good?.body.accessToken).get("/auth/me"));
  await refused(INVALID, exchange(code));
});

Deno.test("with returnTo errors are redirected too, and an expired code is rejected", async () => {
  const stranger = `stranger-${newId()}`;
  provider.accounts.set(stranger, { email: `${stranger}@example.test`, email_verified: true });
  const returnTo = "/welcome";
  const { status, location } = await run(stranger, "corp", { returnTo });
  assert.deepEqual([status, location], [
    303,
    "https://steward.test/welcome#error=OIDC_USER_UNKNOWN_FORBIDDEN",
  ]);
  const [, code] = (await run((await known()).login, "corp", { returnTo })).location.split("#code=");
  await sql`update oidc_handovers set expires_at = now()`;
  await refused(INVALID, exchange(code));
});

Deno.test("the service redirects only to its own and configured origins", async () => {
  const evil = [
    "https://evil.test/",
    "//evil.test/",
    "/\\evil.test/",
    "https://app.test@evil.test/",
    "https://user:word@app.test/",
    "http://app.test/",
    "javascript:alert(1)",
    "/\t/evil.test",
  ];
  for (const returnTo of evil) {
    const answer = await t.nobody.get(`/api/v1/auth/oidc/corp?${new URLSearchParams({ returnTo })}`);
    assert.equal(await outcome(answer), "400 VALIDATION_ERROR", returnTo);
    assert.match(answer.body.errors[0], /^returnTo: /);
  }
  for (const returnTo of ["/x", "https://steward.test/y", "http://localhost:3000/", "HTTPS://APP.TEST"]) {
    await begin("corp", { returnTo });
  }
});

/** The provider says from now on how it signed users in. */
function saying(amr: unknown): void {
  provider.tamper = async (tokens) => {
    tokens.id_token = await provider.signIdToken({ ...decodeJwt(String(tokens.id_token)), amr });
  };
}

/** A user of a tenant that requires a second factor. */
async function strictUser() {
  const { user, login } = await known();
  await accepted(t.systemAdmin.put(`/api/v1/tenants/${user.tenantId}`, { requireSecondFactor: true }));
  return { ...user, login };
}

Deno.test("a tenant that requires a second factor accepts a provider's sign-in only if the ID token says so", async () => {
  const { login } = await strictUser();
  for (const amr of [undefined, "mfa", ["not-mfa"], ["pwd", "mfa"]]) {
    saying(amr);
    const { accessToken } = await accepted(run(login));
    const expected = String(amr) === "pwd,mfa" ? "200" : "403 SECOND_FACTOR_REQUIRED";
    assert.equal(await outcome(withToken(t, accessToken).get("/auth/me")), expected, JSON.stringify(amr));
  }
});

Deno.test("who removes the last factor is limited, unless the provider itself proved two factors", async () => {
  const { id, login } = await strictUser();
  const signedIn = async () => withToken(t, (await accepted(run(login))).accessToken);
  const added = await signedIn();
  const isLimited = async (client = added) => (await accepted(client.get("/auth/factors"))).isLimited;
  assert.equal(await isLimited(), true);
  const { app, factorId } = await addApp(added, { now: Date.now, step: 0 });
  const allowCodesAgain = () => sql`update user_factors set last_step = null where user_id = ${id}`;
  assert.equal(await isLimited(), false);

  const asked = await run(login);
  await allowCodesAgain();
  const both = await accepted(finish(t, asked.body.factorToken, { code: app.code() }));
  saying(["mfa"]);
  const proved = await signedIn();
  const stepped = await accepted(proved.post("/auth/step-up", { code: app.code(1) }));
  assert.deepEqual(stepped.amr, ["fed", "mfa", "otp"]);

  await allowCodesAgain();
  await accepted(added.send("DELETE", `/auth/factors/${factorId}`, { code: app.code() }), 204);
  assert.equal(await isLimited(), true, "the factor was added in the session");
  assert.equal(await isLimited(withToken(t, both.accessToken)), true, "the factor finished the sign-in");
  assert.equal(await isLimited(proved), false, "the provider proved it");
});
