import assert from "node:assert/strict";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();

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

inBrowser("the first steps tick themselves and disappear when all are done", async (b) => {
  const admin = t.systemAdmin;
  const viewing = await openConsole(b, t, admin);
  const { page } = viewing;
  const steps = page.locator("#first-steps");
  const isDone = async (name: string) =>
    await steps.locator(`[data-step="${name}"]`).getByText("done:").count() === 1;
  await viewing.open("");
  await steps.getByText("Create a tenant").waitFor();
  await viewing.requireAccessible();
  for (const step of ["tenant", "message", "job", "key", "docs"]) {
    assert.equal(await isDone(step), false, step);
  }
  assert.equal(await isDone("mail"), true, "the outbox takes messages");
  await t.tenant({ name: "First" });
  await t.actor({});
  const job = await admin.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "1" });
  await t.settled(job.body.id);
  await admin.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: "me@first.test" }],
    subject: "Test",
    textBody: "Hello",
  });
  await viewing.open("");
  await steps.getByText("Create an API key").waitFor();
  for (const step of ["tenant", "invite", "mail", "message", "job"]) {
    assert.equal(await isDone(step), true, step);
  }
  await steps.getByRole("link", { name: "Read the API reference" }).click();
  await page.waitForURL("**/docs");
  const key = await admin.post("/api/v1/api-keys", { name: "first", permissions: ["read:users"] });
  assert.equal(key.status, 201, JSON.stringify(key.body));
  const loaded = page.waitForResponse((answer) => answer.url().includes("first-steps?part=card"));
  await viewing.open("");
  await (await loaded).finished();
  await steps.waitFor({ state: "detached" });
  await viewing.open("");
  assert.equal(await page.locator("[hx-get^='first-steps']").count(), 0, "it is not asked for again");
  await viewing.close();
});

inBrowser("the first steps can be dismissed, and are not shown to others", async (b) => {
  const viewing = await openConsole(b, t, t.systemAdmin, { phone: true, locale: "pt-PT" });
  const { page } = viewing;
  await viewing.open("");
  await page.locator("#first-steps").waitFor();
  await viewing.requireNoSidewaysScroll();
  await page.getByRole("button", { name: "Não mostrar de novo" }).click();
  await page.locator("#overview").waitFor();
  assert.equal(await page.locator("#first-steps, [hx-get^='first-steps']").count(), 0);
  await viewing.close();
  const other = await openConsole(b, t, await t.actor({ role: "Admin" }));
  await other.open("");
  assert.equal(await other.page.locator("[hx-get^='first-steps']").count(), 0);
  await other.close();
});
