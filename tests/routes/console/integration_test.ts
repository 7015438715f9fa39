import assert from "node:assert/strict";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { withToken } from "../auth/people.ts";
import { browse, browseAt, type PlainBrowser } from "./plain_browser.ts";

const t = await setupShared({ OUTBOUND_ALLOW: "127.0.0.1" });
/** Ids of the events that a path of the receiver got, and the status that it answers with; default 200. */
const received = new Map<string, string[]>();
const statuses = new Map<string, number>();
const receiver = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
  await request.text();
  const path = new URL(request.url).pathname;
  received.set(path, [...received.get(path) ?? [], request.headers.get("webhook-id") ?? ""]);
  return new Response("<b>said</b>", { status: statuses.get(path) ?? 200 });
});
Deno.test.afterAll(async () => {
  await receiver.shutdown();
  await t.stop();
});
const hook = (path: string) => `http://127.0.0.1:${receiver.addr.port}${path}`;
const makers = ["manage:api-keys", "manage:webhooks", "manage:oauth-clients", "read:users"];

/** Makes a webhook endpoint. */
async function endpoint(by: Actor, path: string) {
  const webhook = { url: hook(path), eventTypes: ["role.changed"] };
  const { id } = await accepted(by.post("/api/v1/webhook-endpoints", webhook));
  return { id, path: `/api/v1/webhook-endpoints/${id}` };
}

/** The secret that the page shows once. */
const shownSecret = ({ page }: PlainBrowser): string =>
  page.all("button", ({ attribs }) => "data-copy" in attribs)[0]?.attribs["data-copy"] ?? "";

Deno.test("an API key has at most its creator's permissions, is shown once, gets a new secret, and is revoked", async () => {
  const by = await t.actor({ permissions: ["manage:api-keys", "manage:webhooks", "read:users"] });
  const browser = await browseAt(t, by, "api-keys/new");
  assert.equal(browser.page.controls("permissions").length, 3, "the maker's own rights and no others");
  const name = "<i>nightly</i> import";
  await browser.press("Create the key", { Name: name, "read:users": true, "Valid for": "30" });
  const keys = [shownSecret(browser)];
  const list = await browser.follow("Back to the API keys");
  assert.ok(!list.shows(name, "Active").html.includes(keys[0] ?? ""), "it has its first characters only");
  await browser.follow("New secret");
  await browser.press("Create the secret");
  keys.push(shownSecret(browser));
  const users = () =>
    Promise.all(keys.map(async (key) => (await withToken(t, key).get("/api/v1/users")).status));
  assert.deepEqual(await users(), [401, 200]);
  await browser.follow("Back to the API keys");
  (await browser.press("Revoke", {}, name)).shows("The key was revoked.", "No API keys yet");
  assert.deepEqual(await users(), [401, 401]);
  (await browser.press("Filter", { Show: "true" })).shows("Revoked");
});

Deno.test("the API refuses a permission that the form does not offer", async () => {
  const browser = await browse(t, await t.actor({ permissions: makers }));
  const key = { name: "forced", permissions: "delete:users", days: "30" };
  const forced = await browser.force("api-keys/new", key);
  assert.equal(forced.shows("ROLE_ASSIGNMENT_ESCALATION_BLOCKED").status, 403);
});

Deno.test("a service account is created with its secret shown once, gets a new secret, and is revoked", async () => {
  const by = await t.actor({ permissions: ["manage:service-accounts", "read:users"] });
  const browser = await browseAt(t, by, "service-accounts");
  const inTenant = { "x-tenant-id": by.tenantId ?? "" };
  const users = async (secret: string) => (await withToken(t, secret).get("/api/v1/users", inTenant)).status;
  await browser.follow("New service account");
  assert.deepEqual(browser.page.options("Acts in"), ["This tenant"]);
  await browser.press("Create the account", { Name: "<i>billing</i>", "read:users": true });
  const first = shownSecret(browser);
  assert.equal(await users(first), 200);
  const list = await browser.follow("Back to the service accounts");
  assert.match(list.rows.join(), /<i>billing<\/i>.*This tenant.*Active|<i>billing<\/i>.*Active.*This tenant/);
  assert.ok(!list.html.includes(first), "the list has its first characters only");
  await browser.follow("New secret");
  await browser.press("Create the secret", { "The old secret stays valid for": "3600" });
  assert.deepEqual([await users(first), await users(shownSecret(browser))], [200, 200]);
  (await browser.follow("Back to the service accounts")).shows("Old secret valid until");
  (await browser.press("Revoke")).shows("The service account was revoked.");
  assert.equal(await users(first), 401);
  const operator = await browseAt(t, t.systemAdmin, "service-accounts/new");
  await operator.press("Create the account", { Name: "everywhere", "Acts in": "all", "read:users": true });
  assert.equal(await users(shownSecret(operator)), 200, "also in a tenant of others");
});

Deno.test("an administrator creates an OAuth client, whose secret is shown once, rotates it and revokes the client", async () => {
  const browser = await browseAt(t, await t.actor({ permissions: makers }), "oauth-clients/new");
  const client = {
    name: "Orders",
    kind: "confidential",
    redirectUris: "http://app.test",
    audience: "https://orders.test",
    scopes: "openid email",
    tokenAlgorithm: "EdDSA",
  };
  const refused = await browser.press("Create", client);
  assert.deepEqual([refused.status, refused.value("redirectUris")], [400, client.redirectUris]);
  await browser.press("Create", { redirectUris: "https://app.test/callback\nhttp://127.0.0.1/callback" });
  const secret = shownSecret(browser);
  assert.match(secret, /^ocs_[\w-]{43}$/);
  await browser.visit("oauth-clients");
  const detail = await browser.follow("Orders");
  assert.ok(!detail.shows("https://app.test/callback").html.includes(secret));
  await browser.press("New secret");
  assert.match(shownSecret(browser), /^ocs_[\w-]{43}$/);
  await browser.visit(detail.address);
  await browser.press("Revoke");
  (await browser.visit(detail.address)).shows("Revoked");
});

Deno.test("a webhook endpoint is created, tested, shows failures, delivers again, is changed and deleted", async () => {
  const browser = await browseAt(t, await t.actor({ permissions: makers }), "webhooks/new");
  (await browser.press("Create", { URL: "http://10.0.0.1/" })).shows("expected a public address");
  statuses.set("/tested", 500);
  (await browser.press("Create", { URL: hook("/tested") })).shows("The endpoint was created");
  const secret = shownSecret(browser);
  assert.match(secret, /^whsec_/);
  const { address } = (await browser.follow("Back to the endpoint")).shows("No deliveries yet");
  assert.ok(
    (await browser.follow("Deliveries by period")).address.endsWith(address.split("/").at(-1) ?? "?"),
  );
  await browser.visit(address);
  (await browser.press("Send a test event")).shows("A test event was queued.");
  const failing = await browser.waitFor("<b>said</b>");
  assert.match(failing.rows.find((row) => row.startsWith("webhook.ping")) ?? "", /500/);
  assert.ok(!failing.html.includes(secret));
  assert.ok(!failing.offers.includes("Send again"), "it is tried again by itself");
  statuses.delete("/tested");
  await browser.press("Send a test event");
  await browser.visit(`${address}?status=Delivered`);
  await until(async () => (await browser.visit(browser.page.address)).offers.includes("Send again"));
  const before = received.get("/tested")?.length ?? 0;
  (await browser.press("Send again")).shows("The event was queued again.");
  await until(() => (received.get("/tested")?.length ?? 0) > before);
  (await browser.press("New secret")).shows("The new secret was created");
  assert.notEqual(shownSecret(browser), secret);
  await browser.go("Back to the endpoint", "Edit");
  (await browser.press("Save", { "All events": false })).shows("Required.");
  await browser.press("Save", { eventTypes: ["user.created"], "Active: events are sent": false });
  assert.ok(!browser.page.shows("The endpoint was saved.").offers.includes("Send a test event"));
  (await browser.press("Delete")).shows("No webhook endpoints yet");
});

Deno.test("all failed deliveries of yesterday are sent again, of all endpoints in the scope and of nothing else", async () => {
  const one = await t.actor({ permissions: ["manage:webhooks"] });
  const two = await t.actor({ permissions: ["manage:webhooks"] });
  const { sql } = t.steward.platform;
  for (const [n, by] of [one, two].entries()) {
    const { id, path } = await endpoint(by, `/late-${n}`);
    await by.post(`${path}/pause`, {}); // so that nothing is sent
    const failed = (count: number, day: number) =>
      sql`insert into webhook_deliveries (id, endpoint_id, event_type, body, job_id, status, next_attempt_at, completed_at)
        select gen_random_uuid(), ${id}, 'role.changed', '{}', gen_random_uuid(), 'Failed', null,
          date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' - make_interval(hours => ${
        24 * day - 12
      })
        from generate_series(1, ${count})`;
    await failed(n === 0 ? 2 : 3, 1);
    await failed(1, 2);
  }
  const left = async () => (await sql`select from webhook_deliveries where status = 'Failed'`).count;
  const before = await left();
  const tenant = await browseAt(t, one, "webhook-deliveries?range=yesterday&status=Failed");
  assert.equal(tenant.page.rows.length, 2);
  (await tenant.follow("Send failed events again")).shows(
    "This sends 2 failed deliveries to active endpoints again, in ",
  );
  (await tenant.press("2 events: send again")).shows("2 events were queued again.");
  assert.equal(await left(), before - 2);
  const everywhere = await browseAt(t, t.systemAdmin, "webhook-deliveries?range=yesterday&status=Failed");
  everywhere.page.shows("Tenant", `Tenant ${two.tenantId}`);
  (await everywhere.follow("Send failed events again")).shows(
    "3 failed deliveries to active endpoints again, for all tenants",
  );
  (await everywhere.press("3 events: send again")).shows("3 events were queued again.");
  assert.equal(await left(), before - 5);
});
