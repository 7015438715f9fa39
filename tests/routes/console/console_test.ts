import assert from "node:assert/strict";
import { accepted } from "../../support/outcomes.ts";
import { setupFile } from "../../support/setup.ts";
import { forgetFailures, PASSWORD, person, signIn } from "../auth/people.ts";
import { browse, browseAt, PlainBrowser } from "./plain_browser.ts";

const t = await setupFile();
Deno.test.beforeEach(() => forgetFailures(t));

/** The first steps on the overview by whether they are done; null: the overview has no list of them. */
async function firstSteps(browser: PlainBrowser): Promise<Record<string, boolean> | null> {
  const { html } = await browser.open("");
  if (!html.includes("first-steps?part=card")) return null;
  const card = await browser.open("first-steps?part=card");
  const steps = [...card.html.matchAll(/data-step="(\w+)".*?<\/li>/gs)];
  return Object.fromEntries(steps.map(([text, name = ""]) => [name, text.includes("done:")]));
}

Deno.test("the first steps tick themselves and disappear when all are done or they are dismissed", async () => {
  const admin = t.systemAdmin;
  const browser = await browse(t, admin);
  const done = { invite: true, mail: true }; // the outbox takes messages
  const none = { tenant: false, ...done, message: false, job: false, key: false, docs: false };
  assert.deepEqual(await firstSteps(browser), none);
  await browser.visit("first-steps");
  assert.equal((await browser.follow("Create an API key")).address, "/console/api-keys/new");
  await t.tenant({ name: "First" });
  const job = await admin.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "1" });
  await t.settled(job.body.id);
  const recipients = [{ address: "me@first.test" }];
  const message = { channel: "Email", recipients, subject: "Test", textBody: "Hello" };
  await admin.post("/api/v1/notifications/send", message);
  const some = { ...none, tenant: true, message: true, job: true };
  assert.deepEqual(await firstSteps(browser), some);
  const dismissing = await browse(t, admin, "pt-PT");
  await dismissing.visit("first-steps");
  await dismissing.press("Não mostrar de novo");
  assert.equal(await firstSteps(dismissing), null);
  assert.match((await browser.open("first-steps/docs")).location, /\/docs$/);
  await accepted(admin.post("/api/v1/api-keys", { name: "first", permissions: ["read:users"] }), 201);
  assert.deepEqual(await firstSteps(browser), {}, "all are done");
  assert.equal(await firstSteps(browser), null, "it is not asked for again");
  const other = await browse(t, await t.actor({ role: "Admin" }));
  assert.equal(await firstSteps(other), null, "not shown to others");
});

Deno.test("a user signs in with email and password, and signs out", async () => {
  const { email } = await person(t);
  const browser = new PlainBrowser(t);
  const page = await browser.visit("jobs?status=Failed");
  assert.equal(page.address, "/console/sign-in?to=jobs%3Fstatus%3DFailed");
  const wrong = await browser.press("Sign in", { email, Password: "not the password" });
  assert.equal(wrong.shows("The email or the password is wrong").value("Password"), "");
  assert.equal(
    (await browser.press("Sign in", { Password: PASSWORD })).address,
    "/console/jobs?status=Failed",
  );
  assert.equal((await browser.press("Sign out")).address, "/console/sign-in");
  assert.match((await browser.visit("jobs")).address, /sign-in/);
});

Deno.test("without a session, or with an invalid cookie, a page redirects to sign-in", async () => {
  for (const cookie of ["", "steward_console=forged", "steward_console=; steward_flash=%00"]) {
    const { status, location } = await new PlainBrowser(t).open("jobs", { cookie });
    assert.equal(status, 303);
    assert.match(location, /^\/console\/sign-in/);
  }
});

Deno.test("the sign-in page never redirects to another site", async () => {
  for (
    const to of ["//evil.test", "https://evil.test", "/\\evil.test", "javascript:alert(1)", "..//evil.test"]
  ) {
    const { html } = await new PlainBrowser(t).open(`sign-in?to=${encodeURIComponent(to)}`);
    assert.ok(!html.includes("evil.test") && !html.includes("alert(1)"), to);
  }
});

Deno.test("after the sign-in, an address of any characters is percent-encoded in the header", async () => {
  const user = await person(t);
  const to = "jobs?searchTerm=Å½\n\u017d";
  const browser = new PlainBrowser(t);
  await browser.visit(`sign-in?to=${encodeURIComponent(to)}`);
  const page = await browser.press("Sign in", { email: user.email, Password: PASSWORD });
  assert.match(page.address, /^\/console\/jobs\?searchTerm=%C3%85%C2%BD%0A%C5%BD/);
});

Deno.test("the account page changes names and passwords, shows errors, and ends sessions", async () => {
  const user = await person(t);
  const other = new PlainBrowser(t);
  const browser = new PlainBrowser(t);
  for (const each of [other, browser]) {
    await each.visit("account");
    await each.press("Sign in", { email: user.email, Password: PASSWORD });
  }
  const saved = await browser.press("Save", { "First name": "<b>Zoë</b>" });
  assert.equal(saved.shows("Your profile was saved.").value("First name"), "<b>Zoë</b>");
  const password = { "New password": "a good long password" };
  const refused = await browser.press("Change password", { "Current password": "wrong", ...password });
  assert.equal(refused.shows("this is not the caller's current password").status, 400);
  const email = await browser.press("Change email", {
    "New email": "zoe@new.example.test",
    password: "wrong",
  });
  assert.deepEqual([email.status, email.value("New email")], [400, "zoe@new.example.test"]);
  assert.equal(other.page.address, "/console/account");
  await browser.press("Change password", { "Current password": PASSWORD, ...password });
  browser.page.shows("Your password was changed.");
  assert.match((await other.visit("account")).address, /sign-in/, "the other session has ended");
});

Deno.test("the chosen theme and language are kept", async () => {
  const browser = await browseAt(t, await t.actor({ role: "Visitor" }), "inbox");
  await browser.press("Apply", { theme: "dark", locale: "pt" });
  assert.equal(browser.page.heading, "Caixa de entrada");
  const [html] = (await browser.visit("jobs")).all("html");
  assert.deepEqual([html?.attribs.lang, html?.attribs["data-theme"]], ["pt", "dark"]);
});

Deno.test("a new message raises the unread count, is read in the inbox, and is deleted", async () => {
  const actor = await t.actor({ permissions: ["send:notifications"] });
  const recipients = [{ address: actor.userId }];
  const message = { channel: "InApp", recipients, subject: "<i>Hello</i>", textBody: "line one\nline two" };
  const browser = await browse(t, actor);
  const unread = () => {
    const [count] = browser.page.all("span", ({ attribs }) => "data-unread" in attribs);
    return count && !("hidden" in count.attribs) ? count.attribs["aria-label"] : null;
  };
  await browser.visit("inbox");
  assert.equal(unread(), null);
  assert.equal((await actor.post("/api/v1/notifications/send", message)).status, 200);
  (await browser.waitFor("<i>Hello</i>")).shows("line one");
  assert.match(unread() ?? "", /^1 /);
  const { html: csv } = await browser.open("inbox?as=csv");
  assert.match(csv, /"?<i>Hello<\/i>"?,.*line one/s);
  await browser.press("Mark as read");
  assert.equal(unread(), null);
  await browser.press("Filter", { Show: "false" });
  browser.page.lacks("<i>Hello</i>");
  await browser.visit("inbox");
  (await browser.press("Delete")).shows("The message was deleted.").lacks("<i>Hello</i>");
});

/** Sends the form of the sign-in page by a new browser. */
async function submit(email: string, password: string, headers: Record<string, string> = {}) {
  const fields = Object.entries({ do: "sign-in", email, password });
  const answer = await new PlainBrowser(t).send("sign-in", fields, headers);
  const device = answer.headers.getSetCookie().find((cookie) => cookie.startsWith("steward_device="));
  return { ...answer, device };
}

Deno.test("a browser that has signed in before goes on while others have locked the account", async () => {
  const { email } = await person(t);
  assert.equal((await submit(email, "wrong")).device, undefined, "not after a failed sign-in");
  const { status, device = "" } = await submit(email, PASSWORD, {
    cookie: `steward_device=${"x".repeat(3_000)}`,
  });
  assert.equal(status, 303);
  assert.match(device, /^steward_device=[\w-]{43}; .*SameSite=Strict; Max-Age=7776000; HttpOnly/);
  const cookie = device.split(";")[0] ?? "";
  for (let n = 0; n < 5; n++) assert.equal((await signIn(t, email, "wrong")).status, 401);
  assert.equal((await submit(email, PASSWORD)).status, 401, "an unknown browser");
  assert.equal((await submit(email, PASSWORD, { cookie: "steward_device=forged" })).status, 401);
  const again = await submit(email, PASSWORD, { cookie });
  assert.deepEqual([again.status, again.device?.split(";")[0]], [303, cookie]);
});

Deno.test("who is locked out, or over the limit of an address, is told when to try again", async () => {
  const { email } = await person(t);
  for (let n = 0; n < 5; n++) await signIn(t, email, "wrong");
  const { html } = await submit(email, PASSWORD, { "accept-language": "pt-BR" });
  assert.match(html, /Você pode tentar de novo em 15 minutos\./);
  await t.steward.platform.sql`insert into failed_sign_ins (subject, failed_at, last_failed_at)
    values ('address:127.0.0.1', array(select now() - interval '70 seconds' from generate_series(1, 30)), now())
    on conflict (subject) do update set failed_at = excluded.failed_at`;
  const limited = await submit((await person(t)).email, PASSWORD);
  assert.match(limited.html, /You can try again in 4 minutes\./);
});

Deno.test("a browser that opens the service's address is led to the console; a program is not", async () => {
  const ask = async (accept: string, path = "/", method = "GET") => {
    const answer = await fetch(`${t.url}${path}`, { method, headers: { accept }, redirect: "manual" });
    await answer.body?.cancel();
    return [answer.status, answer.headers.get("location")];
  };
  assert.deepEqual(await ask("text/html,application/xhtml+xml,*/*;q=0.8"), [302, "/console/"]);
  assert.deepEqual(await ask("text/html", "/?a=1"), [302, "/console/"]);
  assert.deepEqual(await ask("application/json"), [404, null]);
  assert.deepEqual(await ask("*/*"), [404, null]);
  assert.deepEqual(await ask("text/html", "/", "POST"), [404, null]);
  assert.deepEqual(await ask("text/html", "//console"), [404, null]);
});
