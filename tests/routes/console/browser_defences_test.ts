import assert from "node:assert/strict";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import { csrfToken } from "../../../routes/console/shared/cookies.ts";
import { setupFile } from "../../support/setup.ts";
import { AWAY } from "./plain_browser.ts";

const t = await setupFile({ PUBLIC_URL: "https://steward.example.test", ...AWAY });

const SESSION = "__Host-steward_console";
const HSTS = "max-age=31536000; includeSubDomains";

async function ask(path: string, headers: Record<string, string> = {}, form?: Record<string, string>) {
  const answer = await fetch(`${t.url}/console/${path}`, {
    method: form ? "POST" : "GET",
    body: form && new URLSearchParams(form),
    headers: { "sec-fetch-site": "same-origin", ...headers },
    redirect: "manual",
  });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

async function signIn(cookie = "") {
  const { BOOTSTRAP_ADMIN_EMAIL: email = "", BOOTSTRAP_ADMIN_PASSWORD: password = "" } =
    t.steward.platform.config;
  const { status, headers } = await ask("sign-in", { cookie }, { do: "sign-in", email, password });
  assert.equal(status, 303);
  const [set = ""] = headers.getSetCookie().filter((text) => text.startsWith(SESSION));
  return { set, cookie: set.split(";")[0] ?? "" };
}

Deno.test("over https every cookie is Secure, bound to the host by its name, and closed to scripts", async () => {
  const { set, cookie } = await signIn();
  assert.match(set, /^__Host-steward_console=[\w-]{43}; Path=\/; SameSite=Strict; HttpOnly; Secure$/);
  const secret = cookie.slice(SESSION.length + 1);
  const page = await ask("sign-in");
  const chosen = { csrf: csrfToken(secret), theme: "dark", locale: "pt", back: "" };
  const look = await ask("look", { cookie }, chosen);
  const flash = await ask("tenant", { cookie }, { csrf: csrfToken(secret), tenantId: crypto.randomUUID() });
  const provider = [...page.text.matchAll(/data-zone-cookie="([^"]+)"/g)].map(([, text = ""]) => text);
  assert.deepEqual(provider, ["__Host-steward_tz={zone}; Path=/; SameSite=Strict; Max-Age=31536000; Secure"]);
  const others = [page, look, flash].flatMap(({ headers }) => headers.getSetCookie());
  const names = ["begun", "theme", "locale", "flash"].map((name) => `__Host-steward_${name}`);
  assert.deepEqual(others.map((text) => text.split("=")[0]), names);
  for (const text of others) assert.match(text, /; Path=\/; SameSite=(Strict|Lax); .*HttpOnly; Secure$/);
});

Deno.test("a cookie without the prefix, which any host of the domain could set, is no session", async () => {
  const { cookie } = await signIn();
  assert.equal((await ask("account", { cookie })).status, 200);
  assert.equal((await ask("account", { cookie: cookie.replace("__Host-", "") })).status, 303);
  assert.equal((await ask("account", { cookie: cookie.replace("__Host-", "__Secure-") })).status, 303);
});

Deno.test("a new sign-in gets a new session and ends the one that the browser had", async () => {
  const first = await signIn();
  const second = await signIn(first.cookie);
  assert.notEqual(second.cookie, first.cookie);
  assert.equal((await ask("account", { cookie: first.cookie })).status, 303);
  assert.equal((await ask("account", { cookie: second.cookie })).status, 200);
  const elsewhere = await signIn();
  for (const { cookie } of [second, elsewhere]) {
    assert.equal((await ask("account", { cookie })).status, 200, "other browsers stay signed in");
  }
});

Deno.test("every answer of the console has the headers that protect it in browsers", async () => {
  const actor = await t.actor({ role: "Admin" });
  const secret = await openBrowserSession(t.steward.platform, actor.token ?? "");
  const cookie = `${SESSION}=${secret}`;
  const { text } = await ask("sign-in");
  const assets = [...text.matchAll(/(?:href|src)="(assets\/[^"]+)"/g)].map(([, path = ""]) => path);
  assert.equal(assets.length, 5);
  const answers = await Promise.all([
    ...assets.map((path) => ask(path)),
    ...["", "sign-in", "account", "nothing", "jobs/not-an-id", "inbox/stream"].map((path) => ask(path)),
    ...["account", "jobs", "nothing", "jobs/not-an-id"].map((path) => ask(path, { cookie })),
    ask("account", { cookie, "sec-fetch-site": "cross-site" }, { csrf: csrfToken(secret) }),
    ask("assets/nothing"),
  ]);
  for (const { headers } of answers) {
    assert.equal(headers.get("strict-transport-security"), HSTS);
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.equal(headers.get("referrer-policy"), "same-origin");
    assert.equal(headers.get("cross-origin-opener-policy"), "same-origin");
    const policy = headers.get("content-security-policy") ?? "";
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/);
    assert.match(policy, /frame-ancestors 'none'/);
    const type = headers.get("content-type");
    if (type) assert.match(type, /; ?charset=utf-8$/i);
  }
  const cached = answers.filter(({ headers }) => headers.get("cache-control") !== "no-store");
  assert.equal(cached.length, assets.length, "only assets are cached");
  await ask("sign-out", { cookie }, { csrf: csrfToken(secret) });
});

Deno.test("fields for passwords hide their text, and password managers may fill them", async () => {
  const actor = await t.actor({ role: "Admin" });
  const secret = await openBrowserSession(t.steward.platform, actor.token ?? "");
  const account = await ask("account", { cookie: `${SESSION}=${secret}` });
  const reset = await (await fetch(`${t.url}/auth/reset-password`)).text();
  const fields = [(await ask("sign-in")).text, account.text, reset]
    .flatMap((page) => page.match(/<input[^>]*password[^>]*>/gi) ?? []);
  assert.ok(fields.length >= 4, fields.join("\n"));
  for (const field of fields) {
    assert.match(field, /type="password"/);
    assert.match(field, /autocomplete="(current|new)-password"/);
    assert.doesNotMatch(field, /onpaste|readonly|maxlength="\d{1,3}"/i);
  }
});
