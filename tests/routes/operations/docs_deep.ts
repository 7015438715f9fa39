// The API reference, the pages of error codes and the outbox in a browser.
import assert from "node:assert/strict";
import { PASSWORD, person } from "../auth/people.ts";
import { openConsole, setupConsole } from "../console/support.ts";

const { t, inBrowser } = await setupConsole({ JOB_CONCURRENCY: "0" });

inBrowser(
  "an operation of the reference is found, tried with a sign-in of the page, and shown as code",
  async (b) => {
    const user = await person(t);
    await using viewing = await openConsole(b, t, t.systemAdmin);
    const { page } = viewing;
    await page.goto(`${t.url}/docs`);
    await viewing.requireAccessible();
    await viewing.requireContrastIn("dark");
    await page.getByLabel("Search operations").fill("list roles");
    const operation = page.locator("#listRoles");
    await operation.locator("summary").first().click();
    await operation.getByRole("button", { name: "Send" }).click();
    await operation.getByText("401 Unauthorized").waitFor();
    await operation.getByText("Sign in above first.").waitFor();
    await page.getByLabel("Email").fill(user.email);
    await page.getByLabel("Password").fill("a wrong password");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("[data-who].error", { hasText: "password" }).waitFor();
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText(`Signed in as ${user.email}`).waitFor();
    await operation.getByRole("button", { name: "Send" }).click();
    await operation.getByText(/^200 /).waitFor();
    assert.match(await operation.locator("[data-answer] pre").first().innerText(), /"name": "Admin"/);
    await operation.getByText("Call it from code").click();
    assert.match(
      await operation.locator("[data-samples]").innerText(),
      /curl 'http.*\/api\/v1\/roles.*fetch\(/s,
    );
    await viewing.requireAccessible();
    await viewing.requireContrastIn("dark");
    await page.getByRole("button", { name: "Sign out" }).click();
    await operation.getByRole("button", { name: "Send" }).click();
    await operation.getByText("401 Unauthorized").waitFor();
    viewing.forgive(); // the refused requests
  },
);

inBrowser("a body's example is sent as it stands, and a refusal leads to the page of its code", async (b) => {
  const actor = await t.actor({ role: "Admin" });
  await using viewing = await openConsole(b, t, actor, { phone: true });
  const { page } = viewing;
  await page.goto(`${t.url}/docs#createRole`);
  const operation = page.locator("#createRole");
  await page.getByText("Use another token").click();
  await page.getByLabel("Token").fill(actor.token ?? "");
  for (const expected of [/^201 /, /^409 /]) {
    await operation.getByRole("button", { name: "Send" }).click();
    await operation.locator("[data-answer] > p", { hasText: expected }).waitFor();
  }
  await operation.getByText("Members of the body").click();
  await operation.getByText("permissionIds").first().waitFor();
  await viewing.requireAccessible();
  await viewing.requireNoSidewaysScroll();
  await page.getByRole("link", { name: "What this code means" }).click();
  await page.getByRole("heading", { name: "Role name already in use" }).waitFor();
  viewing.forgive();
  await viewing.requireAccessible();
  await viewing.requireContrastIn("dark");
  await viewing.requireNoSidewaysScroll();
});

inBrowser("the page of an error code is in the reader's language", async (b) => {
  await using viewing = await openConsole(b, t, t.systemAdmin, { locale: "pt-BR", theme: "dark" });
  await viewing.page.goto(`${t.url}/problems/USER_NOT_FOUND`);
  await viewing.page.getByRole("heading", { name: "Como resolver" }).waitFor();
  await viewing.page.getByText("Este usuário não existe aqui").waitFor();
  await viewing.requireAccessible();
});

inBrowser(
  "the outbox shows mails as pages, finds them by text, and cannot run what they contain",
  async (b) => {
    const { outbox } = t.steward.platform;
    assert.ok(outbox);
    const base = { channel: "Email" as const };
    const html = `<h1>Order</h1><script>parent.document.title = "taken"</script>`;
    const [to, textBody] = [["ann@example.test"], "See http://x.test/17"];
    await outbox.add({ ...base, to, subject: "Order 17 <b>", textBody, htmlBody: html });
    await outbox.add({ ...base, to, subject: "Other", textBody: "Nothing", htmlBody: null });
    await using viewing = await openConsole(b, t, t.systemAdmin, { phone: true });
    const { page } = viewing;
    await page.goto(`${t.url}/dev/outbox`);
    await page.getByRole("heading", { name: "Other" }).waitFor();
    await page.getByRole("searchbox").fill("ORDER 17");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("heading", { name: "Order 17 <b>" }).waitFor();
    assert.equal(await page.getByRole("heading", { name: "Other" }).count(), 0);
    assert.equal(await page.getByRole("link", { name: "http://x.test/17" }).count(), 1);
    await page.locator("summary", { hasText: "HTML" }).click();
    await page.frameLocator("iframe").getByRole("heading", { name: "Order" }).waitFor();
    assert.equal(await page.title(), "Outbox · Steward");
    viewing.forgive(); // the blocked script
    await viewing.requireAccessible();
    await viewing.requireNoSidewaysScroll();
  },
);
