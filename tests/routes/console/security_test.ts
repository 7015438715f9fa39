import assert from "node:assert/strict";
import { has } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { ageSignIns, appUser, TestApp } from "../auth/factors.ts";
import { clock, PASSWORD, person } from "../auth/people.ts";
import { PlainBrowser } from "./plain_browser.ts";

const t = await setupShared({}, { clock });
const { sql } = t.steward.platform;
const CODE = "Code of the authenticator app";

/** A browser at a page, after the sign-in with a password. */
async function signedIn(email: string, address: string): Promise<PlainBrowser> {
  const browser = new PlainBrowser(t);
  await browser.visit(address);
  await browser.press("Sign in", { email, Password: PASSWORD });
  return browser;
}

Deno.test("an authenticator app is added with its first code, asked for, and removed", async () => {
  const user = await person(t);
  const browser = await signedIn(user.email, "account/security/app");
  await browser.press("Add an authenticator app");
  assert.equal(
    browser.page.all("svg", ({ attribs }) => /^QR code/.test(attribs["aria-label"] ?? "")).length,
    1,
  );
  const secretOf = () =>
    browser.page.all("input", ({ attribs }) => attribs.name === "secret")[0]?.attribs.value ?? "";
  const secret = secretOf();
  const wrong = await browser.press("Confirm", { [CODE]: "000000" });
  assert.deepEqual([wrong.status, secretOf()], [400, secret], "the same code can be scanned");
  const app = new TestApp(secret);
  await browser.press("Confirm", { [CODE]: app.code(-1) });
  assert.equal(browser.page.heading, "Recovery codes");
  const codes = browser.page.all("code").map((tag) => browser.page.nameOf(tag));
  assert.equal(codes.length, 10);

  const again = await signedIn(user.email, "account/security");
  assert.equal(again.page.heading, "Second factor");
  assert.equal((await again.press("Confirm", { [CODE]: "000000" }, CODE)).status, 401);
  await again.press("Confirm", { "Recovery code": codes[0] ?? "" }, "Recovery code");
  assert.equal(again.page.heading, "Sign-in security");
  await ageSignIns(t, user.id);
  await again.press("Remove “Authenticator app”");
  assert.equal(again.page.heading, "Confirm it is you");
  await again.press("Confirm", { "Current password": PASSWORD, [CODE]: app.code() });
  again.page.shows("The factor was removed.");
  assert.equal((await sql`select from user_factors where user_id = ${user.id}`).length, 0);
});

Deno.test("a step-up continues what it interrupted", async () => {
  const user = await appUser(t);
  const browser = await signedIn(user.email, "account");
  await browser.press("Confirm", { [CODE]: user.app.code() }, CODE);
  await ageSignIns(t, user.id);
  await browser.press("Change email", { "New email": `new-${user.email}`, password: PASSWORD });
  assert.equal(browser.page.heading, "Confirm it is you");
  const wrong = await browser.press("Confirm", { "Current password": "wrong", [CODE]: "000000" });
  wrong.shows("this is not the caller's current password");
  await browser.press("Confirm", { "Current password": PASSWORD, [CODE]: user.app.code(1) });
  assert.equal(browser.page.heading, "Your account");
  assert.equal((await sql`select from email_changes where user_id = ${user.id}`).length, 1);
});

Deno.test("a step-up that continues no form of the console is refused", async () => {
  const { email } = await person(t);
  const browser = await signedIn(email, "account");
  for (const interrupted of ["[", "5", "[5]", '[["name","a\\u0000b"],["list","users"]]']) {
    const form = { password: PASSWORD, to: "lists/filters", interrupted };
    has(await browser.submit("step-up", form), { status: 303, location: "/console/account" }, interrupted);
  }
});

Deno.test("a session that lacks a required factor is led to adding one, and is full afterwards", async () => {
  const user = await person(t);
  await sql`update tenants set require_second_factor = true where id = ${user.tenantId}`;
  const browser = await signedIn(user.email, "users");
  browser.page.shows("A second factor is required here");
  for (const address of ["users", "jobs", ""]) {
    assert.equal((await browser.visit(address)).address, "/console/account/security", address);
  }
  await browser.press("Add an authenticator app");
  const [secret] = browser.page.all("input", ({ attribs }) => attribs.name === "secret");
  await browser.press("Confirm", { [CODE]: new TestApp(secret?.attribs.value ?? "").code() });
  assert.equal((await browser.visit("users")).heading, "Users");
});
