import assert from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import { PASSWORD, person } from "../auth/people.ts";
import { setupConsole, Viewing } from "./support.ts";

const { t, inBrowser } = await setupConsole();
const { sql } = t.steward.platform;
/** Browsers accept passkeys for host names only. */
const base = t.url.replace("127.0.0.1", "localhost");

/** A browser with an authenticator that verifies its user, as Chromium simulates it. */
async function withPasskeys(browser: Browser): Promise<{ viewing: Viewing; page: Page }> {
  const context = await browser.newContext({ locale: "en-GB" });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(`${page.url()}: ${error.message}`));
  page.on("console", (message) => {
    if (message.text().includes("Content Security Policy")) errors.push(message.text());
  });
  const cdp = await context.newCDPSession(page);
  await cdp.send("WebAuthn.enable");
  await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { viewing: new Viewing(page, base, errors), page };
}

async function signInByPassword(page: Page, email: string): Promise<void> {
  await page.getByLabel("Email").first().fill(email);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name }).waitFor();

inBrowser("a passkey is added, signs in alone, is the second factor, and is removed", async (browser) => {
  const user = await person(t);
  const { viewing, page } = await withPasskeys(browser);
  await viewing.open("account/security");
  await viewing.requireAccessible();
  await signInByPassword(page, user.email);
  await heading(page, "Sign-in security");
  await viewing.requireAccessible();
  await page.getByRole("link", { name: "Add a passkey" }).click();
  await heading(page, "Add a passkey");
  await viewing.requireAccessible();
  await page.getByLabel("Name of the passkey").fill("Laptop");
  await page.getByRole("button", { name: "Create the passkey" }).click();
  await heading(page, "Recovery codes");
  await viewing.requireAccessible();
  assert.equal(await page.locator("main li code").count(), 10);
  await page.getByRole("link", { name: "Continue" }).click();
  await page.getByRole("cell", { name: "Laptop", exact: true }).waitFor();

  await page.context().clearCookies();
  await viewing.open("account/security");
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await page.getByRole("cell", { name: "Laptop", exact: true }).waitFor();

  await page.context().clearCookies();
  await viewing.open("account/security");
  await signInByPassword(page, user.email);
  await heading(page, "Second factor");
  await viewing.requireAccessible();
  await page.getByRole("button", { name: "Use a passkey" }).click();
  await page.getByRole("cell", { name: "Laptop", exact: true }).waitFor();

  await page.getByRole("button", { name: "Remove “Laptop”" }).click();
  await viewing.requireAccessible();
  await page.getByRole("dialog").getByRole("button", { name: "Remove “Laptop”" }).click();
  await page.getByText("The factor was removed.").waitFor();
  const left = await sql`select from user_factors where user_id = ${user.id}`;
  assert.equal(left.length, 0);
  await viewing.close();
});

inBrowser(
  "a passkey is the required factor of a session that lacks one",
  async (browser) => {
    const user = await person(t);
    await sql`update tenants set require_second_factor = true where id = ${user.tenantId}`;
    const { viewing, page } = await withPasskeys(browser);
    await viewing.open("users");
    await signInByPassword(page, user.email);
    await heading(page, "Sign-in security");
    await page.getByText("A second factor is required here").waitFor();
    await viewing.requireAccessible();
    await page.getByRole("link", { name: "Add a passkey" }).click();
    await page.getByRole("button", { name: "Create the passkey" }).click();
    await heading(page, "Recovery codes");
    assert.equal(await viewing.open("users"), 200);
    await heading(page, "Users");
    await viewing.close();
  },
);
