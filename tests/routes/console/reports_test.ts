import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { CSV, downloadUrl } from "../reports/support.ts";
import { createTarget, startSlack } from "../reports/target_support.ts";
import { browse, browseAt } from "./plain_browser.ts";

const t = await setupShared({ OUTBOUND_ALLOW: "127.0.0.1" });

Deno.test("a report form shows errors, then generates a report that is followed to its end and downloaded", async () => {
  const actor = await t.actor({ role: "Admin" });
  const browser = await browseAt(t, actor, "reports");
  await browser.follow("reports/audit-log");
  const report = { Actor: "not an id", Action: "<b>user.update</b>", Format: "CSV" };
  const wrong = await browser.press("Generate", report);
  assert.equal(wrong.control("Actor").attribs["aria-invalid"], "true");
  assert.equal(wrong.value("Action"), "<b>user.update</b>");
  const path = "console/{executionId}.csv";
  const stored = { Actor: actor.userId, Method: "To storage", Path: path };
  const [background = "", now = ""] = wrong.options("When");
  const refused = await browser.press("Generate", { ...stored, When: now });
  refused.shows("Delivery and bursting work only in the background.");
  await browser.press("Generate", { When: background });
  const id = browser.page.address.slice(-36);
  (await browser.waitFor("Delivered")).shows(`console/${id}.csv`);
  await downloadUrl(actor, id);
  await browser.visit(`report-runs/${id}`);
  const [download = ""] = browser.page.offers.filter((name) => name.startsWith("Download"));
  const { location } = await browser.follow(download);
  assert.match(await (await fetch(location)).text(), /^"?at,|^"?"?At/i);
  await browser.visit(`report-runs/${id}`);
  await browser.follow("Generate again");
  assert.equal(browser.page.value("Actor"), actor.userId);
  await browser.visit(`report-runs/${id}`);
  (await browser.press("Delete")).shows("The report was deleted.", "No report runs yet");
});

Deno.test("a schedule is created, runs, is paused, changed and deleted", async () => {
  const actor = await t.actor({ role: "Admin" });
  const browser = await browseAt(t, actor, "report-schedules/new");
  const [users = ""] = browser.page.hrefs.filter((href) => /^report-schedules\/new\?.*users/.test(href));
  await browser.follow(users);
  const schedule = { Name: "Monday’s users <i>", Format: "CSV", Repeats: "cron" };
  await browser.press("Create", { ...schedule, cronExpression: "30 8 * * 1" });
  assert.equal(browser.page.shows("The schedule was created.").heading, schedule.Name);
  const id = browser.page.address.slice(-36);
  await browser.press("Run now");
  await browser.visit(`report-schedules/${id}`);
  await browser.waitFor("Ready");
  const runs = await browser.visit("report-runs");
  assert.match(runs.rows[0] ?? "", /^Monday’s users <i> Users Ready CSV/);
  const run = await browser.follow(schedule.Name);
  assert.equal(run.shows("The document is ready.").heading, schedule.Name);
  await browser.visit(`report-schedules/${id}`);
  (await browser.press("Pause")).shows("The schedule is paused.");
  (await browser.press("Resume")).shows("The schedule runs again.");
  await browser.follow("Edit");
  assert.equal(browser.page.value("cronExpression"), "30 8 * * 1");
  const Recipients = "ana@example.test\nrui@example.test";
  await browser.press("Save", { Active: "Yes", Method: "By email", Recipients });
  browser.page.shows("The schedule was saved.");
  const path = `/api/v1/reports/schedules/${id}`;
  const { body } = await actor.get(path);
  assert.equal(JSON.parse(body.parametersJson).isActive, true);
  assert.deepEqual(JSON.parse(body.deliveryOptionsJson).recipients, ["ana@example.test", "rui@example.test"]);
  await browser.follow("Edit");
  await actor.put(path, { name: "Changed elsewhere" });
  const stale = await browser.press("Save", { Name: "Every Monday" });
  stale.shows("Someone else changed this while you were editing");
  assert.equal(stale.value("Name"), "Every Monday");
  await browser.press("Save");
  assert.equal((await actor.get(path)).body.name, "Every Monday");
  (await browser.press("Delete")).shows("The schedule was deleted.", "No schedules yet");
});

Deno.test("a burst generates one document per value, in Portuguese", async () => {
  const browser = await browseAt(t, await t.actor({ role: "Admin" }), "reports/users", "pt-PT");
  const burst = { Parâmetro: "roleName", Valores: "Admin\nAdmin", Formato: "CSV" };
  (await browser.press("Gerar", burst)).shows("linha");
  await browser.press("Gerar", { Valores: "Admin\nVisitor" });
  assert.match(browser.page.address, /report-runs\?burstId=/);
  await until(async () => /Pronto.*Pronto/.test((await browser.visit(browser.page.address)).text));
  (await browser.follow("Users: Visitor")).shows("Todas as execuções da divisão");
});

Deno.test("a report target is created and tested, and a secret for webhooks is shown once", async () => {
  const slack = startSlack();
  const browser = await browse(t, await t.actor({ permissions: ["manage:webhooks"] }));
  (await browser.visit("report-targets")).shows("No report targets yet");
  await browser.follow("New Slack webhook");
  const wrong = await browser.press("Save", { Name: "Team chat", "Webhook URL": "https://127.0.0.2/x" });
  assert.equal(wrong.control("Webhook URL").attribs["aria-invalid"], "true");
  (await browser.press("Save", { "Webhook URL": slack.url })).shows("The target was created.");
  (await browser.press("Test")).shows("The test succeeded");
  await browser.visit("report-targets");
  (await browser.press("New secret")).shows(/whsec_\S+/);
  (await browser.visit("report-targets")).lacks("whsec_");
  await slack.stop();
});

Deno.test("a report that was not delivered leads from the overview to its run, and is delivered elsewhere", async () => {
  const manager = await t.actor({ permissions: ["manage:webhooks"] });
  const reader = await t.actor({ tenantId: manager.tenantId ?? "", role: "Admin" });
  const slack = startSlack();
  await createTarget(manager, { kind: "slack", name: "Team chat", webhookUrl: slack.url });
  const delivery = { method: 4, webhookUrl: "http://127.0.0.2:9/closed" };
  const make = { templateId: "users", format: CSV, delivery };
  const { body: { id } } = await reader.post("/api/v1/reports/generate-async", make);
  const delivered = (status: string) =>
    until(() => reader.get(`/api/v1/reports/${id}`), ({ body }) => body.deliveryStatus === status);
  await delivered("Failed");
  const browser = await browse(t, reader);
  await browser.begin();
  const runs = await browser.follow("1 report of the last 24 hours did not reach all");
  assert.match(runs.rows.join(), /^[^,]*Delivery failed[^,]*$/);
  const run = await browser.follow(`report-runs/${id}`);
  run.shows("No recipient received the document.", /Refused: .*private/);
  await browser.follow("Deliver to others");
  await browser.press("Deliver to others", { Method: "By webhook", Receiver: "Team chat" });
  browser.page.shows("The delivery was queued.");
  await delivered("Partly");
  (await browser.visit(`report-runs/${id}`)).shows("Some recipients did not receive the document.");
  (await browser.press("Deliver again", {}, "127.0.0.2")).shows("The deliveries were queued again.");
  await slack.stop();
});
