// A service with AREAS=access,jobs.
import assert from "node:assert/strict";
import { openLease, warnOfOtherAreas } from "../../domain/jobs/engine/lease.ts";
import { checkAlerts } from "../../domain/operations/alerts.ts";
import { newId } from "../../domain/shared/ids.ts";
import { createLog } from "../../infra/log.ts";
import { servicesOf } from "../../routes/extensions/services.ts";
import { accepted } from "../support/outcomes.ts";
import { setup } from "../support/setup.ts";
import { wholeMetricsPage } from "../support/metrics.ts";
import { browse } from "../routes/console/plain_browser.ts";

const few = await setup({ AREAS: "access,jobs" });
Deno.test.afterAll(() => few.stop());

/** A route of each area that is off. */
const OFF = [
  ..."files notifications looks reports/templates webhooks applications".split(" ").map((at) =>
    `/api/v1/${at}`
  ),
  "/.well-known/openid-configuration",
];

Deno.test("areas that are off have no routes, no part of the API document, no checks and no metrics", async () => {
  const { body: document } = await few.nobody.get("/openapi.json");
  assert.ok(document.paths["/api/v1/jobs"]);
  for (const path of OFF) {
    const { status, body } = await few.systemAdmin.get(path);
    assert.deepEqual([status, body.code], [404, "ROUTE_NOT_FOUND"], path);
    assert.equal(body.detail, `No route answers GET ${path}. This instance has only AREAS=access,jobs.`);
    assert.equal(document.paths[path], undefined);
  }
  const { status, body } = await few.nobody.get("/readyz");
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body.checks).sort(), ["jobs", "mail", "postgres", "postgresDisk"]);
  const metrics = await wholeMetricsPage(few.url);
  assert.doesNotMatch(metrics, /steward_(files|scans|reports)/);
});

Deno.test("the pages of operations leave out areas that are off, and say so", async () => {
  const { body: timeline } = await few.systemAdmin.get("/api/v1/operations/timeline");
  assert.deepEqual(timeline.leftOut, ["Message", "File", "Report", "WebhookDelivery"]);
  const ofMessage = await few.systemAdmin.get(`/api/v1/operations/timeline?messageId=${newId()}`);
  assert.deepEqual([ofMessage.status, ofMessage.body.detail], [404, "AREAS leaves out notifications."]);
  const { body: upcoming } = await few.systemAdmin.get("/api/v1/operations/upcoming");
  assert.deepEqual(upcoming.leftOut.slice(0, 3), ["ReportSchedule", "Message", "FilePurge"]);
  assert.equal((await few.systemAdmin.get("/api/v1/operations/usage")).status, 200);
  assert.equal((await few.systemAdmin.get("/api/v1/operations/data-health")).status, 200);
  const rule = { name: "alert", metric: "DeadLetters", threshold: 1 };
  const create = (more = {}) => few.systemAdmin.post("/api/v1/alert-rules", { ...rule, ...more });
  for (
    const [more, area] of [
      [{ metric: "FailingWebhooks" }, "events"],
      [{ metric: "BounceRate" }, "notifications"],
      [{ metric: "SignatureHours" }, "files"],
      [{ slackTarget: "team" }, "reports"],
    ] as const
  ) {
    const { status, body } = await create(more);
    assert.equal(status, 400);
    const [message] = body.errors[Object.keys(more)[0] ?? ""];
    assert.match(message, new RegExp(`AREAS leaves out ${area}$`));
  }
  const { id } = await accepted(create(), 201);
  const changed = await few.systemAdmin.put(`/api/v1/alert-rules/${id}`, { metric: "BounceRate" });
  assert.equal(changed.status, 400);
  await few.steward.platform.sql`update alert_rules set metric = 'BounceRate' where id = ${id}`;
  await checkAlerts(few.steward.platform);
  assert.equal((await few.systemAdmin.get(`/api/v1/alert-rules/${id}`)).body.state, "Unknown");
});

Deno.test("an extension that asks for a download learns that there are no files", async () => {
  const { platform } = few.steward;
  await assert.rejects(
    servicesOf(platform).signDownload(platform.sql, few.platformTenantId, newId()),
    /AREAS leaves out files/,
  );
});

Deno.test("instances with other areas are named in the log and in the console", async () => {
  const { sql } = few.steward.platform;
  await openLease(sql, "other-host", newId(), new Set(["jobs", "files"]));
  await warnOfOtherAreas(sql, few.steward.platform.config, createLog("warn", (line) => few.logs.push(line)));
  const { own, others } = JSON.parse(few.logs.find((line) => line.includes("other AREAS")) ?? "{}");
  assert.deepEqual([own, others], ["access,jobs", [{ host: "other-host", areas: "jobs,files" }]]);
  const browser = await browse(few, few.systemAdmin);
  assert.match((await browser.open("workers")).html, /Instances differ in AREAS[^<]*other-host: jobs,files/);
});
