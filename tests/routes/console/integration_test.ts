import assert from "node:assert/strict";
import { HttpClient } from "../../support/http.ts";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole({ OUTBOUND_ALLOW: "127.0.0.1" });
const received: string[] = [];
let status = 500;
const receiver = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
  received.push(await request.text());
  return new Response("<b>said</b>", { status });
});
Deno.test.afterAll(async () => {
  await receiver.shutdown();
});

const maker = await t.actor({ permissions: ["manage:api-keys", "manage:webhooks", "read:users"] });
const hook = `http://127.0.0.1:${receiver.addr.port}/hook`;

inBrowser(
  "an API key has at most its creator's permissions, is shown once, works, and is revoked",
  async (b) => {
    const viewing = await openConsole(b, t, maker);
    const { page } = viewing;
    await viewing.open("api-keys/new");
    assert.equal(await page.getByRole("checkbox").count(), 3, "the maker's own rights and no others");
    await page.getByLabel("Name").fill("<i>nightly</i> import");
    await page.getByLabel("read:users").check();
    await page.getByLabel("Valid for").selectOption("30");
    await page.getByRole("button", { name: "Create the key" }).click();
    await page.getByRole("heading", { name: "The key was created" }).waitFor();
    await viewing.requireAccessible();
    const key = await page.locator("main .copy-value code").textContent() ?? "";
    const machine = new HttpClient(t.url, key);
    assert.equal((await machine.get("/api/v1/users")).status, 200);
    assert.equal((await machine.get("/api/v1/roles")).status, 403);
    await page.getByRole("link", { name: "Back to the API keys" }).click();
    const row = page.getByRole("row", { name: "<i>nightly</i> import" });
    await row.getByText("Active").waitFor();
    assert.ok(!(await page.content()).includes(key), "the list has its first characters only");
    await row.getByRole("button", { name: "Revoke" }).click();
    await page.locator("dialog[open] [data-confirm-yes]").click();
    await page.getByText("The key was revoked.").waitFor();
    assert.equal((await machine.get("/api/v1/users")).status, 401);
    await page.getByText("No API keys yet").waitFor();
    await page.getByLabel("Show").selectOption("true");
    await page.getByText("Revoked", { exact: true }).waitFor();
    await viewing.close();
  },
);

inBrowser(
  "a service account is created with its secret shown once, gets a new secret, and is revoked",
  async (b) => {
    const by = await t.actor({ permissions: ["manage:service-accounts", "read:users"] });
    const viewing = await openConsole(b, t, by);
    const { page } = viewing;
    const users = async (secret: string) => {
      const headers = { "x-tenant-id": by.tenantId ?? "" };
      return (await new HttpClient(t.url, secret).get("/api/v1/users", headers)).status;
    };
    const confirm = () => page.locator("dialog[open] [data-confirm-yes]").click();
    const shownSecret = async () => await page.locator("main .copy-value code").textContent() ?? "";
    await viewing.open("service-accounts");
    await page.getByText("No service accounts yet").waitFor();
    await page.getByRole("link", { name: "New service account" }).click();
    await page.getByLabel("Name").fill("<i>billing</i>");
    assert.deepEqual(await page.getByLabel("Acts in").locator("option").allTextContents(), ["This tenant"]);
    await page.getByLabel("read:users").check();
    await page.getByRole("button", { name: "Create the account" }).click();
    await page.getByRole("heading", { name: "The service account was created" }).waitFor();
    await viewing.requireAccessible();
    const first = await shownSecret();
    assert.equal(await users(first), 200);
    await page.getByRole("link", { name: "Back to the service accounts" }).click();
    const row = page.getByRole("row", { name: "<i>billing</i>" });
    await row.getByText("Active").waitFor();
    await row.getByText("This tenant").waitFor();
    await viewing.requireAccessible();
    assert.ok(!(await page.content()).includes(first), "the list has its first characters only");
    await row.getByRole("button", { name: "New secret" }).click();
    await confirm();
    await page.getByRole("heading", { name: "The new secret was created" }).waitFor();
    const second = await shownSecret();
    assert.deepEqual([await users(first), await users(second)], [401, 200]);
    await page.getByRole("link", { name: "Back to the service accounts" }).click();
    await row.getByRole("button", { name: "Revoke" }).click();
    await confirm();
    await page.getByText("The service account was revoked.").waitFor();
    assert.equal(await users(second), 401);
    await viewing.close();
    const operator = await openConsole(b, t, t.systemAdmin);
    await operator.open("service-accounts/new");
    await operator.page.getByLabel("Name").fill("everywhere");
    await operator.page.getByLabel("Acts in").selectOption("all");
    await operator.page.getByLabel("read:users").check();
    await operator.page.getByRole("button", { name: "Create the account" }).click();
    await operator.page.getByRole("heading", { name: "The service account was created" }).waitFor();
    const secret = await operator.page.locator("main .copy-value code").textContent() ?? "";
    assert.equal(await users(secret), 200, "also in a tenant of others");
    await operator.open("service-accounts");
    await operator.page.getByRole("row", { name: "everywhere" }).getByText("All tenants").waitFor();
    await operator.close();
  },
);

inBrowser("the API refuses a permission that the form does not offer", async (b) => {
  const viewing = await openConsole(b, t, maker);
  const { page } = viewing;
  await viewing.open("api-keys/new");
  const csrf = await page.locator("main input[name=csrf]").first().inputValue();
  const forced = await page.request.post(`${t.url}/console/api-keys/new`, {
    headers: { origin: t.url },
    form: { csrf, name: "forced", permissions: "delete:users", days: "30" },
  });
  assert.equal(forced.status(), 403);
  assert.match(await forced.text(), /ROLE_ASSIGNMENT_ESCALATION_BLOCKED/);
  await viewing.close();
});

inBrowser(
  "a webhook endpoint is created, tested, shows failures, delivers again, is changed and deleted",
  async (b) => {
    const viewing = await openConsole(b, t, maker);
    const { page } = viewing;
    await viewing.open("webhooks/new");
    await page.getByLabel("URL").fill("http://10.0.0.1/");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("expected a public address").first().waitFor();
    viewing.forgive();
    await page.getByLabel("URL").fill(hook);
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "The endpoint was created" }).waitFor();
    const secret = await page.locator("main .copy-value code").textContent() ?? "";
    assert.match(secret, /^whsec_/);
    await page.getByRole("link", { name: "Back to the endpoint" }).click();
    await page.getByText("No deliveries yet").waitFor();
    await page.getByRole("button", { name: "Send a test event" }).click();
    await page.getByText("A test event was queued.").waitFor();
    const row = page.getByRole("row", { name: "webhook.ping" });
    await viewing.reloadUntil(async () => await row.getByText("500", { exact: true }).count() > 0);
    await page.getByText("Body and attempts").click();
    await page.getByText("<b>said</b>").waitFor();
    await viewing.requireAccessible();
    assert.ok(!(await page.content()).includes(secret));
    assert.equal(
      await page.getByRole("button", { name: "Send again" }).count(),
      0,
      "it is tried again by itself",
    );
    assert.match(received[0] ?? "", /webhook\.ping/);

    status = 200;
    await page.getByRole("button", { name: "Send a test event" }).click();
    await page.getByText("A test event was queued.").waitFor();
    await viewing.reloadUntil(async () => await row.getByText("Delivered", { exact: true }).count() > 0);
    await viewing.open(`${page.url().split("/console/")[1]}?status=Delivered`);
    const before = received.length;
    await page.getByRole("button", { name: "Send again" }).first().click(); // the first event may have arrived too
    await page.getByText("The event was queued again.").waitFor();
    await viewing.reloadUntil(() => Promise.resolve(received.length > before));

    await page.getByRole("button", { name: "New secret" }).click();
    await page.locator("dialog[open] [data-confirm-yes]").click();
    await page.getByRole("heading", { name: "The new secret was created" }).waitFor();
    assert.notEqual(await page.locator("main .copy-value code").textContent(), secret);
    await page.getByRole("link", { name: "Back to the endpoint" }).click();
    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel("All events").uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("expected").first().waitFor();
    viewing.forgive();
    await page.locator("input[name=eventTypes]").nth(1).check();
    await page.getByLabel("Active: events are sent").uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The endpoint was saved.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Send a test event" }).count(), 0);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.locator("dialog[open] [data-confirm-yes]").click();
    await page.getByText("No webhook endpoints yet").waitFor();
    await viewing.close();
  },
);

inBrowser("an endpoint is paused with a reason, shows who did it, and is resumed", async (b) => {
  status = 200;
  const { id } = (await maker.post("/api/v1/webhook-endpoints", { url: hook, eventTypes: "*" })).body;
  const viewing = await openConsole(b, t, maker);
  const { page } = viewing;
  await viewing.open(`webhooks/${id}`);
  await page.getByText("Pause this endpoint").click();
  await page.getByLabel("Reason").fill("The receiver <b>moves</b>");
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText("The endpoint was paused.").waitFor();
  await page.getByText("· The receiver <b>moves</b>").waitFor();
  await page.locator("main").getByRole("link", { name: "Test Actor" }).first().waitFor();
  await viewing.requireAccessible();
  await page.getByRole("button", { name: "Send a test event" }).click();
  await page.getByText("A test event was queued.").waitFor();
  await viewing.open("webhooks?isPaused=true");
  await page.getByRole("row", { name: hook }).getByText("Paused").waitFor();
  await viewing.requireAccessible();
  const before = received.length;
  await page.getByRole("link", { name: hook }).click();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByText("The endpoint was resumed.").waitFor();
  await viewing.reloadUntil(() => Promise.resolve(received.length > before));
  await page.getByRole("link", { name: "Send failed events again" }).click();
  await page.getByText("No delivery of this endpoint has failed.").waitFor();
  await viewing.requireAccessible();
  await maker.delete(`/api/v1/webhook-endpoints/${id}`);
  await viewing.close();
});

inBrowser("the pages need their permission and show only the viewer's tenant", async (b) => {
  const made = await maker.post("/api/v1/webhook-endpoints", {
    url: "https://example.com/hook",
    eventTypes: "*",
  });
  const pages = [
    ...["api-keys", "api-keys/new", "service-accounts", "service-accounts/new"],
    ...["webhooks", "webhooks/new", `webhooks/${made.body.id}`],
  ];
  const statuses = async (actor: typeof maker) => {
    const other = await openConsole(b, t, actor);
    const found: number[] = [];
    for (const address of pages) {
      found.push((await other.page.request.get(`${t.url}/console/${address}`)).status());
    }
    await other.close();
    return found;
  };
  assert.deepEqual(
    await statuses(t.systemAdmin),
    [200, 200, 200, 200, 200, 200, 404],
    "another tenant's is not found",
  );
  const closed = pages.map(() => 403);
  assert.deepEqual(await statuses(await t.actor({ role: "Visitor" })), closed);
  assert.deepEqual(await statuses(await t.actor({ permissions: [] })), closed);
  assert.deepEqual(await statuses(await t.actor({ role: "Admin" })), closed);
  for (const address of pages) {
    const answer = await fetch(`${t.url}/console/${address}`, { redirect: "manual" });
    await answer.body?.cancel();
    assert.equal(answer.status, 303, address);
  }
});
