import assert from "node:assert/strict";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import { has } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { person, signIn } from "../auth/people.ts";

const t = await setupShared();

/** The lines of the log with this message that were written during `work`. */
async function logged(message: string, work: () => Promise<unknown>) {
  const before = t.logs.length;
  await work();
  const lines = t.logs.slice(before);
  return { lines, events: lines.map((line) => JSON.parse(line)).filter((line) => line.message === message) };
}

Deno.test("every sign-in and refresh is logged with its user and address", async () => {
  const user = await person(t);
  const { events: [event] } = await logged("signed in", () => signIn(t, user.email));
  has(event, { operation: "signIn", userId: user.id, tenantId: user.tenantId, ip: "127.0.0.1" });
  assert.match(event.traceId, /^[0-9a-f]{32}$/);
  assert.match(event.time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const { refreshToken } = (await signIn(t, user.email)).body;
  const renewed = await logged("signed in", () => t.nobody.post("/auth/refresh", { refreshToken }));
  has(renewed.events, [{ operation: "refresh", userId: user.id }]);
});

Deno.test("a refused sign-in is logged with its reason, without the email and password that were sent", async () => {
  const user = await person(t);
  const { events, lines } = await logged("access refused", async () => {
    await signIn(t, user.email, "a wrong secret value");
    await signIn(t, "my-password-typed-as@email.test");
  });
  const codes = events.map(({ operation, status, code }) => [operation, status, code]);
  assert.deepEqual(codes, Array(2).fill(["signIn", 401, "CREDENTIALS_INVALID_UNAUTHORIZED"]));
  assert.doesNotMatch(lines.join(), /a wrong secret value|typed-as/);
});

Deno.test("refused access is logged with the caller: no token, a wrong one, no permission", async () => {
  const actor = await t.actor();
  const { events, lines } = await logged("access refused", async () => {
    await t.nobody.get("/api/v1/users");
    await actor.get("/api/v1/users");
    await actor.get("/api/v1/admin/users");
    await t.nobody.get("/api/v1/users", { authorization: "Bearer not-a-token" });
  });
  const seen = events.map(({ operation, status, code, caller }) => [operation, status, code, caller]);
  assert.deepEqual(seen, [
    ["listUsers", 401, "TOKEN_MISSING", null],
    ["listUsers", 403, "MISSING_PERMISSION", actor.userId],
    ["listAllUsers", 403, "MISSING_PERMISSION", actor.userId],
    ["listUsers", 401, "TOKEN_INVALID", null],
  ]);
  assert.doesNotMatch(lines.join(), /not-a-token/);
});

Deno.test("a console form without its token is logged", async () => {
  const actor = await t.actor();
  const secret = await openBrowserSession(t.steward.platform, actor.token ?? "");
  const { events } = await logged("console form refused", async () => {
    const answer = await fetch(`${t.url}/console/look`, {
      method: "POST",
      body: new URLSearchParams({ csrf: "wrong" }),
      headers: { cookie: `steward_console=${secret}`, "sec-fetch-site": "same-origin" },
    });
    assert.equal(answer.status, 403);
    await answer.body?.cancel();
  });
  assert.deepEqual(events.map(({ path, userId }) => [path, userId]), [["look", actor.userId]]);
});
