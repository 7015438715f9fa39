import assert from "node:assert/strict";
import { csrfToken } from "../../../routes/console/shared/cookies.ts";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import { setup } from "../../support/setup.ts";

const t = await setup({ BODY_TIMEOUT_SECONDS: "1" });
Deno.test.afterAll(() => t.stop());

const FORM = "application/x-www-form-urlencoded";

async function post(
  path: string,
  body: BodyInit,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; text: string }> {
  const answer = await fetch(`${t.url}/console/${path}`, {
    method: "POST",
    body,
    headers: { "content-type": FORM, "sec-fetch-site": "same-origin", ...headers },
    redirect: "manual",
  });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
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

/** The session cookie of a signed-in actor, and the token that their forms must send. */
async function signedIn(permissions?: string[]): Promise<{ cookie: string; csrf: string }> {
  const actor = await t.actor(permissions ? { permissions } : { role: "Admin" });
  const secret = await openBrowserSession(t.steward.platform, actor.token ?? "");
  return { cookie: `steward_console=${secret}`, csrf: csrfToken(secret) };
}

Deno.test("the sign-in form has a small size limit, whatever Content-Length says", async () => {
  for (const body of ["a".repeat(100_000), unmeasured(100_000)]) {
    const { status, text } = await post("sign-in", body);
    assert.equal(status, 401);
    assert.match(text, /larger than this route reads; expected at most 65536 bytes/);
  }
});

Deno.test("reading an incomplete form ends after the time limit", async () => {
  const never = new ReadableStream<Uint8Array>({ start: (out) => out.enqueue(new Uint8Array([97])) });
  const { status, text } = await post("sign-in", never);
  assert.equal(status, 401);
  assert.match(text, /was not there in full after 1 s/);
});

Deno.test("a body that is not a valid form gets a 4xx answer", async () => {
  const before = t.logs.length;
  const broken = { "content-type": "multipart/form-data; boundary=x" };
  assert.equal((await post("sign-in", "--y", broken)).status, 401);
  assert.equal((await post("sign-in", "{}", { "content-type": "application/json" })).status, 401);
  const { cookie } = await signedIn();
  const { status, headers } = await post("account", "--y", { ...broken, cookie });
  assert.deepEqual([status, headers.get("location")], [303, "/console/"]);
  assert.deepEqual(t.logs.slice(before).filter((line) => line.includes("console page failed")), []);
});

Deno.test("a form with a value that no column, header or date can hold is refused", async () => {
  const { cookie, csrf } = await signedIn(["manage:api-keys", "read:users"]);
  const before = t.logs.length;
  const send = (path: string, fields: Record<string, string>) =>
    post(path, new URLSearchParams({ csrf, ...fields }).toString(), { cookie });
  const named = await send("lists/filters", { list: "users", query: "isActive=true", name: "a\0b" });
  assert.equal(named.status, 303);
  const flash = /steward_flash=([\w-]+)/.exec(named.headers.get("set-cookie") ?? "")?.[1] ?? "";
  assert.match(atob(flash.replaceAll("-", "+").replaceAll("_", "/")), /"tone":"bad".*NUL/s);
  for (const etag of ["\u{1f600}", "é"]) {
    assert.equal((await send("preferences", { etag, timeZoneId: "UTC" })).status, 412, etag);
  }
  const days = "9".repeat(20);
  const key = await send("api-keys/new", { name: "Long", days, permissions: "read:users" });
  assert.equal(key.status, 400);
  assert.ok(!t.logs.slice(before).some((line) => line.includes("a console page failed")));
});

Deno.test("the time to read the recipients of a message grows with their length", async () => {
  const { cookie, csrf } = await signedIn(["send:notifications"]);
  const recipients = `${`Zoë${" ".repeat(40_000)}<a\n`.repeat(2)}Ann < Bo <not an address>`;
  const fields = { csrf, channel: "Email", source: "text", recipients, subject: "Hello", textBody: "Hi" };
  const times: number[] = [];
  for (let n = 0; n < 2; n++) {
    const started = performance.now();
    const { status, text } = await post("notifications/send", new URLSearchParams(fields).toString(), {
      cookie,
    });
    times.push(performance.now() - started);
    assert.equal(status, 400);
    assert.ok(text.includes("recipients.1.address"), "the page names the wrong recipients");
  }
  assert.ok(Math.min(...times) < 1_500, `${times} ms`);
});

Deno.test("a page's form may contain an import file, but nothing larger", async () => {
  const { cookie, csrf } = await signedIn();
  const form = (bytes: number) => `csrf=${csrf}&do=profile&firstName=Ana&filler=${"a".repeat(bytes)}`;
  const fits = await post("account", form(11 * 1024 * 1024), { cookie });
  assert.deepEqual([fits.status, fits.headers.get("location")], [303, "/console/account"]);
  const beyond = await post("account", form(13 * 1024 * 1024), { cookie });
  assert.deepEqual([beyond.status, beyond.headers.get("location")], [303, "/console/"]);
  const foreign = await post("account", unmeasured(1), { cookie, "sec-fetch-site": "cross-site" });
  assert.equal(foreign.status, 403);
});

Deno.test("a tenant without a link to the user, or an unknown tenant, cannot be chosen", async () => {
  const { cookie, csrf } = await signedIn();
  const before = t.logs.length;
  for (const tenantId of [await t.tenant(), "no' uuid"]) {
    const { status, headers } = await post("tenant", new URLSearchParams({ csrf, tenantId }), { cookie });
    assert.deepEqual([status, headers.get("location")], [303, "/console/"]);
    assert.match(headers.get("set-cookie") ?? "", /steward_flash=/);
  }
  assert.deepEqual(t.logs.slice(before).filter((line) => line.includes("console page failed")), []);
});

Deno.test("a path parameter cannot lead to another API route", async () => {
  const { cookie } = await signedIn();
  const odd = [
    "files/..%2fusers",
    "files/%2e%2e%2fusers%3f",
    "users/x%3fa=b",
    "recurring/a%2fb",
    "jobs/a%5cb",
  ];
  for (const path of [...odd, "settings/x%23y"]) {
    const answer = await fetch(`${t.url}/console/${path}`, { headers: { cookie }, redirect: "manual" });
    await answer.body?.cancel();
    assert.equal(answer.status, 404, path);
  }
});
