import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { OpenIdTest } from "./openid.ts";
import { bearer } from "./people.ts";

const world = await OpenIdTest.start();
Deno.test.afterAll(() => world.stop());
const { t, provider, begin, run, known } = world;
const { sql } = t.steward.platform;

Deno.test("with returnTo the browser is redirected with a code, which can be exchanged for tokens once", async () => {
  const { user, login } = await known();
  const returnTo = "https://app.test/signed-in?next=%2Fhome";
  const answer = await run(login, "corp", `?${new URLSearchParams({ returnTo: `${returnTo}#old` })}`);
  assert.equal(answer.status, 303);
  assert.ok(answer.location.startsWith(`${returnTo}#code=`), answer.location);
  const code = new URL(answer.location).hash.slice("#code=".length);
  const exchange = () => t.nobody.post("/api/v1/auth/oidc/exchange", { code });
  const answers = await Promise.all(Array.from({ length: 4 }, exchange));
  const good = answers.filter(({ status }) => status === 200);
  assert.equal(good.length, 1);
  assert.equal(good[0]?.body.user.id, user.id);
  assert.equal((await bearer(t, good[0]!).get("/auth/me")).status, 200);
  const again = await exchange();
  assert.equal(again.status, 400);
  assert.equal(again.body.code, "OIDC_HANDOVER_INVALID");
});

Deno.test("with returnTo errors are redirected too, and an expired code is rejected", async () => {
  const query = `?${new URLSearchParams({ returnTo: "/welcome" })}`;
  const stranger = `stranger-${newId()}`;
  provider.accounts.set(stranger, { email: `${stranger}@example.test`, email_verified: true });
  const answer = await run(stranger, "corp", query);
  assert.equal(answer.status, 303);
  assert.equal(answer.location, "https://steward.test/welcome#error=OIDC_USER_UNKNOWN_FORBIDDEN");
  const { login } = await known();
  const code = (await run(login, "corp", query)).location.split("#code=")[1];
  await sql`update oidc_handovers set expires_at = now()`;
  assert.equal((await t.nobody.post("/auth/oidc/exchange", { code })).body.code, "OIDC_HANDOVER_INVALID");
});

Deno.test("the service redirects only to its own and configured origins", async () => {
  const evil = [
    "https://evil.test/",
    "//evil.test/",
    "/\\evil.test/",
    "\\\\evil.test",
    "https:/\\evil.test",
    "https://app.test.evil.test/",
    "https://app.test@evil.test/",
    "https://user:word@app.test/",
    "http://app.test/",
    "https://app.test:8443/",
    "javascript:alert(1)",
    "data:text/html,x",
    "/\t/evil.test",
    "https://evil.test#https://app.test",
  ];
  for (const returnTo of evil) {
    const { status, body } = await t.nobody.get(
      `/api/v1/auth/oidc/corp?${new URLSearchParams({ returnTo })}`,
    );
    assert.equal(status, 400, returnTo);
    assert.equal(body.code, "VALIDATION_ERROR");
    assert.match(body.errors[0], /^returnTo: /);
  }
  for (const returnTo of ["/x", "https://steward.test/y", "http://localhost:3000/", "HTTPS://APP.TEST"]) {
    await begin("corp", `?${new URLSearchParams({ returnTo })}`);
  }
});
