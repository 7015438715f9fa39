// A service with AREAS=access,jobs.
import assert from "node:assert/strict";
import { openLease, warnOfOtherAreas } from "../../domain/jobs/engine/lease.ts";
import { checkAlerts } from "../../domain/operations/alerts.ts";
import { newId } from "../../domain/shared/ids.ts";
import { ConfigurationError, readConfig } from "../../infra/config.ts";
import { createLog } from "../../infra/log.ts";
import { servicesOf } from "../../routes/extensions/services.ts";
import { setup } from "../support/setup.ts";
import { wholeMetricsPage } from "../support/metrics.ts";
import { browse } from "../routes/console/plain_browser.ts";

const few = await setup({ AREAS: "access,jobs" });
Deno.test.afterAll(() => few.stop());

/** A route and a console page of each area that is off. */
const OFF: [path: string, page: string][] = [
  ["/api/v1/files", "files"],
  ["/api/v1/notifications", "notifications"],
  ["/api/v1/looks", "inbox"],
  ["/api/v1/reports/templates", "reports"],
  ["/api/v1/webhooks", "webhooks"],
  ["/api/v1/applications", "applications"],
  ["/.well-known/openid-configuration", "oauth-clients"],
];

Deno.test("areas that are off have no routes, no part of the API document, no checks and no metrics", async () => {
  const { body: document } = await few.nobody.get("/openapi.json");
  assert.ok(document.paths["/api/v1/jobs"]);
  for (const [path] of OFF) {
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

Deno.test("the console links to nothing that is off", async () => {
  const browser = await browse(few, few.systemAdmin);
  const { html } = await browser.open("./");
  const linked = [...html.matchAll(/<a [^>]*href="([^"/?#]*)/g)].map(([, first]) => first);
  assert.ok(linked.includes("jobs") && linked.includes("users"));
  for (const [, page] of OFF) {
    assert.ok(!linked.includes(page), page);
    assert.equal((await browser.open(page)).status, 404, page);
  }
  for (const page of ["users", `users/${few.systemAdmin.userId}`, `tenants/${few.platformTenantId}`]) {
    assert.doesNotMatch((await browser.open(page)).html, /href="(user-imports|[^"]*\/data")/, page);
  }
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
  const rule = { name: "alert", threshold: 1 };
  for (
    const [more, member, area] of [
      [{ metric: "FailingWebhooks" }, "metric", "events"],
      [{ metric: "BounceRate" }, "metric", "notifications"],
      [{ metric: "SignatureHours" }, "metric", "files"],
      [{ metric: "DeadLetters", slackTarget: "team" }, "slackTarget", "reports"],
    ] as const
  ) {
    const { status, body } = await few.systemAdmin.post("/api/v1/alert-rules", { ...rule, ...more });
    assert.equal(status, 400);
    assert.match(body.errors[member][0], new RegExp(`AREAS leaves out ${area}$`));
  }
  const { status, body: { id } } = await few.systemAdmin.post("/api/v1/alert-rules", {
    ...rule,
    metric: "DeadLetters",
  });
  assert.equal(status, 201);
  assert.equal(
    (await few.systemAdmin.put(`/api/v1/alert-rules/${id}`, { metric: "BounceRate" })).status,
    400,
  );
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

Deno.test("an unknown area is a mistake that lists the areas, and files' settings are needed only with files", () => {
  const mistakesOf = (env: Record<string, string>) => {
    try {
      readConfig(env);
    } catch (error) {
      if (error instanceof ConfigurationError) return error.message;
    }
    return "";
  };
  assert.match(mistakesOf({ AREAS: "jobs,job" }), /AREAS: entry 2: expected some of access, jobs, files/);
  const production = { STEWARD_ENV: "production", AREAS: "jobs" };
  assert.doesNotMatch(mistakesOf(production), /S3_|SCANNER/);
  assert.match(mistakesOf({ ...production, AREAS: "reports" }), /S3_BUCKET is missing[^]*SCANNER is missing/);
});
