import assert from "node:assert/strict";
import { setup } from "../support/setup.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());

const credentials = { email: "admin@steward.local", password: "steward-admin-dev" };
const signIn = (body: Record<string, unknown> = credentials) => t.nobody.post("/api/v1/auth/login", body);

Deno.test("the first administrator signs in and gets tokens for the platform tenant", async () => {
  const { status, body } = await signIn();
  assert.equal(status, 200);
  assert.equal(body.tokenType, "Bearer");
  assert.equal(body.expiresIn, 900);
  assert.equal(body.tenant.id, t.platformTenantId);
  assert.ok(body.permissions.includes("admin:system"));
});

Deno.test("a wrong password and an unknown email are the same answer", async () => {
  const wrong = await signIn({ ...credentials, password: "wrong-password" });
  const unknown = await signIn({ ...credentials, email: "nobody@example.test" });
  assert.equal(wrong.status, 401);
  const strip = ({ traceId: _, ...rest }: Record<string, unknown>) => rest;
  assert.deepEqual(strip(wrong.body), strip(unknown.body));
  assert.equal(wrong.body.code, "CREDENTIALS_INVALID_UNAUTHORIZED");
});

Deno.test("a refresh token works once; seen again it ends its session", async () => {
  const first = (await signIn()).body;
  const second = await t.nobody.post("/api/v1/auth/refresh", { refreshToken: first.refreshToken });
  assert.equal(second.status, 200);
  const reuse = await t.nobody.post("/api/v1/auth/refresh", { refreshToken: first.refreshToken });
  assert.equal(reuse.status, 401);
  assert.equal(reuse.body.code, "TOKEN_REVOKED");
  const me = await t.nobody.with({ authorization: `Bearer ${second.body.accessToken}` }).get(
    "/api/v1/auth/me",
  );
  assert.equal(me.body.code, "TOKEN_REVOKED");
  const successor = await t.nobody.post("/auth/refresh", { refreshToken: second.body.refreshToken });
  assert.equal(successor.body.code, "TOKEN_REVOKED");
});

Deno.test("ten simultaneous uses of one refresh token give at most one success", async () => {
  const { refreshToken } = (await signIn()).body;
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => t.nobody.post("/auth/refresh", { refreshToken })),
  );
  assert.equal(answers.filter((answer) => answer.status === 200).length, 1);
});

Deno.test("signing out ends the session for the very next request", async () => {
  const { accessToken } = (await signIn()).body;
  const me = t.nobody.with({ authorization: `Bearer ${accessToken}` });
  assert.equal((await me.get("/auth/me")).status, 200);
  assert.equal((await me.post("/auth/logout")).status, 204);
  assert.equal((await me.get("/auth/me")).body.code, "TOKEN_REVOKED");
});

Deno.test("requests without, with a malformed and with a forged token are told apart", async () => {
  assert.equal((await t.nobody.get("/auth/me")).body.code, "TOKEN_MISSING");
  assert.equal(
    (await t.nobody.with({ authorization: "Basic eA==" }).get("/auth/me")).body.code,
    "TOKEN_INVALID",
  );
  const { accessToken } = (await signIn()).body;
  const forged = accessToken.slice(0, -4) + (accessToken.endsWith("AAAA") ? "BBBB" : "AAAA");
  assert.equal(
    (await t.nobody.with({ authorization: `Bearer ${forged}` }).get("/auth/me")).body.code,
    "TOKEN_INVALID",
  );
});
