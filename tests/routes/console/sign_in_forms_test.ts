import assert from "node:assert/strict";
import { digest, newSecret } from "../../../domain/shared/secrets.ts";
import { setupShared } from "../../support/setup.ts";
import { AWAY, browse, PlainBrowser } from "./plain_browser.ts";

const t = await setupShared(AWAY);

/** Sends a body to the sign-in page. */
async function signIn(body: BodyInit, type = "application/x-www-form-urlencoded") {
  const headers = { "content-type": type, "sec-fetch-site": "same-origin" };
  const sent = { method: "POST", body, headers, redirect: "manual" } as const;
  const answer = await fetch(`${t.url}/console/sign-in`, sent);
  return { status: answer.status, text: await answer.text() };
}

/** A body of the given size without Content-Length. */
const unmeasured = (bytes: number): ReadableStream<Uint8Array> => {
  let left = bytes;
  return new ReadableStream({
    pull(out) {
      out.enqueue(new Uint8Array(Math.min(left, 16_384)).fill(97));
      left -= 16_384;
      if (left <= 0) out.close();
    },
  });
};
const failures = () => t.logs.filter((line) => line.includes("console page failed"));

Deno.test("the sign-in form has a small size limit, whatever Content-Length says", async () => {
  for (const body of ["a".repeat(100_000), unmeasured(100_000)]) {
    const { status, text } = await signIn(body);
    assert.equal(status, 413);
    assert.match(text, /larger than this route reads; expected at most 65536 bytes/);
  }
});

Deno.test("a body that is not a valid form, or does not arrive in time, gets a 4xx answer", async () => {
  const never = new ReadableStream<Uint8Array>({ start: (out) => out.enqueue(new Uint8Array([97])) });
  const late = await signIn(never);
  assert.equal(late.status, 408);
  assert.match(late.text, /did not arrive completely within 1 s/);
  const broken = "multipart/form-data; boundary=x";
  assert.equal((await signIn("--y", broken)).status, 400);
  assert.equal((await signIn("{}", "application/json")).status, 400);
  const browser = await browse(t, await t.actor({ role: "Admin" }));
  const { status, location } = await browser.send("account", [["a", "b"]], { "content-type": broken });
  assert.deepEqual([status, location], [303, "/console/"]);
  assert.deepEqual(failures(), []);
});

Deno.test("a form with a value that no column, header or date can hold is refused", async () => {
  const browser = await browse(t, await t.actor({ permissions: ["manage:api-keys", "read:users"] }));
  const filter = { list: "users", query: "isActive=true", name: "a\0b" };
  assert.match((await browser.force("lists/filters", filter)).text, /NUL/);
  assert.equal((await browser.force("preferences", { etag: "\u{1f600}", timeZoneId: "UTC" })).status, 412);
  const key = { name: "Long", days: "9".repeat(20), permissions: "read:users" };
  assert.equal((await browser.force("api-keys/new", key)).status, 400);
  assert.deepEqual(failures(), []);
});

Deno.test("a path parameter cannot lead to another API route", async () => {
  const browser = await browse(t, await t.actor({ role: "Admin" }));
  const paths = ["files/..%2fusers", "files/%2e%2e%2fusers%3f", "users/x%3fa=b", "recurring/a%2fb"];
  for (const path of [...paths, "jobs/a%5cb", "settings/x%23y"]) {
    assert.equal((await browser.open(path)).status, 404, path);
  }
});

/** The code of a finished sign-in with the provider, for a new user. */
async function finished(): Promise<string> {
  const { userId } = await t.actor();
  const code = newSecret();
  await t.steward.platform
    .sql`insert into oidc_handovers (code_hash, user_id, tenant_id, is_global, expires_at)
    values (${digest(code)}, ${userId}, null, false, now() + interval '1 minute')`;
  return code;
}

/** Opens the sign-in page. @returns its cookie, and the value that the provider's redirect must contain. */
async function begin(): Promise<{ cookie: string; begun: string }> {
  const { html, headers } = await new PlainBrowser(t).open("sign-in");
  const cookie = headers.get("set-cookie") ?? "";
  assert.match(cookie, /^steward_begun=.*; SameSite=Lax; .*HttpOnly/);
  const [, returnTo = ""] = /returnTo=([^"]*)"/.exec(html) ?? [];
  const begun = new URL(decodeURIComponent(returnTo), t.url).searchParams.get("begun") ?? "";
  return { cookie: cookie.split(";")[0] ?? "", begun };
}

const comeBack = (cookie: string, code: string, begun: string) =>
  new PlainBrowser(t).send("sign-in", Object.entries({ do: "exchange", code, begun }), { cookie });

Deno.test("a browser completes the provider sign-in it started, and none that another browser started", async () => {
  const [attacker, victim] = [await begin(), await begin()];
  const code = await finished();
  const ofVictim = [attacker.begun, ""].map((begun) => [victim.cookie, begun] as const);
  for (const [cookie, begun] of [...ofVictim, ["", attacker.begun], ["steward_begun=", ""]] as const) {
    const { status, headers } = await comeBack(cookie, code, begun);
    assert.deepEqual([status, /steward_console=/.test(headers.get("set-cookie") ?? "")], [401, false]);
  }
  const { cookie, begun } = attacker;
  const page = await new PlainBrowser(t).open(`sign-in?begun=${begun}`, { cookie });
  assert.equal(page.headers.get("set-cookie"), null, "it is the same browser");
  assert.ok(page.html.includes(`name="begun" value="${begun}"`));
  const { status, headers } = await comeBack(cookie, code, begun);
  assert.equal(status, 303);
  assert.match(headers.get("set-cookie") ?? "", /^steward_console=[\w-]{43};/);
});

/** A tenant with an enabled provider and a verified domain. */
async function company() {
  const admin = await t.actor({ permissions: ["manage:sign-in"] });
  const provider = { name: "Acme Entra", issuer: "https://login.acme.example", clientId: "steward" };
  const { body } = await admin.post("/api/v1/sign-in-providers", { kind: "Oidc", ...provider });
  await admin.post(`/api/v1/sign-in-providers/${body.id}/enable`);
  const domain = `${crypto.randomUUID()}.example`;
  await admin.post("/api/v1/sign-in-domains", { name: domain });
  await t.steward.platform.sql`update sign_in_domains set status = 'Verified' where name = ${domain}`;
  return { tenantId: admin.tenantId ?? "", domain, startUrl: body.service.startUrl as string };
}

Deno.test("the sign-in page of a tenant has its providers, and the password only by a link if it is off", async () => {
  const { tenantId, startUrl } = await company();
  const browser = new PlainBrowser(t);
  const page = await browser.visit(`sign-in?tenantId=${tenantId}`);
  assert.ok(page.shows("Continue with Acme Entra").controls("Password").length > 0);
  const [href = ""] = page.hrefs.filter((href) => href.startsWith(`${startUrl}?`));
  const back = new URL(new URL(href).searchParams.get("returnTo") ?? "", t.url);
  assert.deepEqual([back.pathname, back.searchParams.get("tenantId")], ["/console/sign-in", tenantId]);
  await t.steward.platform.sql`update tenants set password_sign_in = false where id = ${tenantId}`;
  await browser.visit(`sign-in?tenantId=${tenantId}`);
  assert.equal(browser.page.controls("Password").length, 0);
  await browser.follow("Use a password");
  assert.equal(browser.page.controls("Password").length, 1);
});

Deno.test("a work email leads to the provider of its domain", async () => {
  const { domain, startUrl } = await company();
  const browser = new PlainBrowser(t);
  const { html } = await browser.send("sign-in", [["do", "company"], ["email", `ana@${domain}`]]);
  const to = `url=..${new URL(startUrl).pathname}?returnTo=%2Fconsole%2Fsign-in%3Fbegun%3D`;
  assert.ok(html.includes(to), html);
  assert.ok(browser.cookies.has("steward_begun"), "its return is bound to this browser");
  await browser.visit("sign-in");
  (await browser.press("Continue", { Email: "ana@nobody.example" })).shows("No company sign-in is set up");
  const refused = await new PlainBrowser(t, "pt-BR").visit("sign-in?error=TENANT_SESSION_FORBIDDEN");
  refused.shows("Entrou com a sua empresa"); // a refusal by the provider, in the browser's language
});
