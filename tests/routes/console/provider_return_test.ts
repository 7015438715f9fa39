import assert from "node:assert/strict";
import { digest, newSecret } from "../../../domain/shared/secrets.ts";
import { setupShared } from "../../support/setup.ts";
import { AWAY } from "./sign_in_services.ts";

const t = await setupShared(AWAY);
Deno.test.afterAll(() => t.stop());

/** The code of a finished sign-in with the provider, for a new user. */
async function finished(user?: string): Promise<string> {
  const userId = user ?? (await t.actor()).userId;
  const code = newSecret();
  await t.steward.platform
    .sql`insert into oidc_handovers (code_hash, user_id, tenant_id, is_global, expires_at)
    values (${digest(code)}, ${userId}, null, false, now() + interval '1 minute')`;
  return code;
}

/** Opens the sign-in page. @returns its cookie, and the value that the provider's redirect must contain. */
async function begin(): Promise<{ cookie: string; begun: string }> {
  const answer = await fetch(`${t.url}/console/sign-in`);
  const cookie = answer.headers.get("set-cookie") ?? "";
  assert.match(cookie, /^steward_begun=.*; SameSite=Lax; .*HttpOnly/);
  const [, returnTo = ""] = /returnTo=([^"]*)"/.exec(await answer.text()) ?? [];
  const begun = new URL(decodeURIComponent(returnTo), t.url).searchParams.get("begun") ?? "";
  return { cookie: cookie.split(";")[0] ?? "", begun };
}

async function comeBack(cookie: string, form: Record<string, string>) {
  const answer = await fetch(`${t.url}/console/sign-in`, {
    method: "POST",
    body: new URLSearchParams({ do: "exchange", ...form }),
    headers: { "sec-fetch-site": "same-origin", cookie },
    redirect: "manual",
  });
  await answer.body?.cancel();
  return { status: answer.status, cookie: answer.headers.get("set-cookie") ?? "" };
}

Deno.test("a browser completes the provider sign-in it started", async () => {
  const { cookie, begun } = await begin();
  const page = await fetch(`${t.url}/console/sign-in?begun=${begun}`, { headers: { cookie } });
  assert.equal(page.headers.get("set-cookie"), null, "it is the same browser");
  assert.ok((await page.text()).includes(`name="begun" value="${begun}"`));
  const back = await comeBack(cookie, { code: await finished(), begun });
  assert.equal(back.status, 303);
  assert.match(back.cookie, /^steward_console=[\w-]{43};/);
});

Deno.test("a browser that has signed in before goes on while others have locked the account", async () => {
  const { userId } = await t.actor();
  const { cookie, begun } = await begin();
  const first = await comeBack(cookie, { code: await finished(userId), begun });
  const device = /steward_device=[\w-]{43}/.exec(first.cookie)?.[0];
  assert.ok(device, first.cookie);
  await t.steward.platform
    .sql`update users set lockout_expires_at = now() + interval '10 minutes' where id = ${userId}`;
  assert.equal((await comeBack(cookie, { code: await finished(userId), begun })).status, 401);
  const known = await comeBack(`${cookie}; ${device}`, { code: await finished(userId), begun });
  assert.equal(known.status, 303);
  assert.ok(known.cookie.includes(device), "the cookie lives longer");
});

Deno.test("a browser does not complete a provider sign-in that another browser started", async () => {
  const victim = await begin();
  const attacker = await begin();
  const code = await finished();
  for (
    const [cookie, begun] of [
      [victim.cookie, attacker.begun],
      [victim.cookie, ""],
      ["", attacker.begun],
      ["steward_begun=", ""],
    ] as const
  ) {
    const { status, cookie: given } = await comeBack(cookie, { code, begun });
    assert.deepEqual([status, given.includes("steward_console=")], [401, false]);
  }
  assert.equal((await comeBack(attacker.cookie, { code, begun: attacker.begun })).status, 303);
});
