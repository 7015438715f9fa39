// Services that leave areas out: what they serve is derived from the endpoints of all areas.
import assert from "node:assert/strict";
import { openLease, warnOfOtherAreas } from "../../domain/jobs/engine/lease.ts";
import { checkAlerts } from "../../domain/operations/alerts.ts";
import { newId } from "../../domain/shared/ids.ts";
import { createLog } from "../../infra/log.ts";
import type { AreaName } from "../../infra/areas.ts";
import { ConfigurationError, readConfig } from "../../infra/config.ts";
import { endpointsOf } from "../../routes/areas.ts";
import { servicesOf } from "../../routes/extensions/services.ts";
import { sections, sectionsOf } from "../../routes/console/sections.ts";
import { ENDPOINTS } from "../../routes/endpoints.ts";
import { setup, type TestService } from "../support/setup.ts";
import { browse } from "../routes/console/plain_browser.ts";

const few = await setup({ AREAS: "jobs" });
const many = await setup({ AREAS: "notifications,reports" });
Deno.test.afterAll(async () => {
  await few.stop();
  await many.stop();
});

const onOf = (...areas: AreaName[]) => ({ AREAS: new Set(areas) });
const firstOf = (path: string) => path.split("/")[0] ?? "";

/** Requires that routes of areas that are off answer 404, and that the document has the others alone. */
async function requireServed(t: TestService, areas: AreaName[]): Promise<void> {
  const served = new Set((await endpointsOf({ config: onOf(...areas), outbox: true })).map(({ id }) => id));
  assert.ok(served.size < ENDPOINTS.length);
  for (const { method, path } of ENDPOINTS.filter(({ id }) => !served.has(id))) {
    const at = path.replaceAll(/\{\w+\}/g, "00000000-0000-4000-8000-000000000000");
    const { status } = await t.systemAdmin.send(method.toUpperCase(), at);
    // A path may also fit a served route of another method, or with a parameter.
    const fits = ENDPOINTS.some((other) =>
      served.has(other.id) && new RegExp(`^${other.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(at)
    );
    if (!fits) assert.equal(status, 404, `${method} ${path}`);
  }
  const { body: document } = await t.nobody.get("/openapi.json");
  const documented = Object.values<Record<string, { operationId: string }>>(document.paths)
    .flatMap((operations) => Object.values(operations).flatMap(({ operationId }) => operationId ?? []));
  assert.deepEqual(new Set(documented), served);
}

/** Opens every page of the navigation; none links to a section of an area that is off. */
async function requireConsole(t: TestService, areas: AreaName[]): Promise<void> {
  const shown = sectionsOf(onOf(...areas));
  const known = new Set(shown.flatMap(({ pages }) => pages.map(({ path }) => firstOf(path))));
  const off = new Set(sections.flatMap(({ pages }) => pages.map(({ path }) => firstOf(path))));
  const left = new Set([...off].filter((path) => !known.has(path)));
  const browser = await browse(t, t.systemAdmin);
  for (
    const path of [
      "./",
      "account",
      "first-steps",
      ...shown.flatMap(({ nav }) => nav.map(({ path }) => path)),
    ]
  ) {
    const { status, html } = await browser.open(path);
    assert.equal(status, 200, path);
    for (const [, href = ""] of html.matchAll(/<a [^>]*href="([^"]*)"/g)) {
      assert.ok(!left.has(firstOf(href.split(/[?#]/)[0] ?? "")), `${path} links to ${href}`);
    }
  }
  assert.equal((await browser.open([...left][0] ?? "")).status, 404);
}

Deno.test("a service of jobs alone serves sign-in and jobs, and is ready without scanner and bucket", async () => {
  await requireServed(few, ["jobs"]);
  const { status, body } = await few.nobody.get("/readyz");
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body.checks).sort(), ["jobs", "mail", "postgres", "postgresDisk"]);
  const metrics = await (await fetch(`${few.url}/metrics`)).text();
  assert.doesNotMatch(metrics, /steward_(files|scans|reports)/);
  const { body: job } = await few.systemAdmin.post("/api/v1/jobs", {
    jobTypeName: "steward.echo",
    args: {},
  });
  assert.equal(await few.settled(job.id), "Succeeded");
  const signIn = await few.nobody.post("/api/v1/auth/login", {
    email: "admin@steward.local",
    password: "steward-admin-dev",
  });
  assert.equal(signIn.status, 200);
  assert.equal((await few.systemAdmin.get("/api/v1/operations/overview")).status, 200);
});

Deno.test("the pages of operations leave out areas that are off, and say so", async () => {
  const { body: timeline } = await few.systemAdmin.get("/api/v1/operations/timeline");
  assert.deepEqual(timeline.leftOut, ["Audit", "Message", "File", "Report", "WebhookDelivery"]);
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
  await openLease(sql, "other-host", newId(), onOf("jobs", "files").AREAS);
  await warnOfOtherAreas(sql, few.steward.platform.config, createLog("warn", (line) => few.logs.push(line)));
  const { own, others } = JSON.parse(few.logs.find((line) => line.includes("other AREAS")) ?? "{}");
  assert.deepEqual([own, others], ["jobs", [{ host: "other-host", areas: "jobs,files" }]]);
  const browser = await browse(few, few.systemAdmin);
  assert.match((await browser.open("workers")).html, /Instances differ in AREAS[^<]*other-host: jobs,files/);
});

Deno.test("the console of a service of jobs alone links to nothing that is off", () =>
  requireConsole(few, ["jobs"]));

Deno.test("messages and reports work without the routes of jobs and files", async () => {
  await requireServed(many, ["notifications", "reports"]);
  await requireConsole(many, ["notifications", "reports"]);
  const report = { templateId: "users", format: 3 };
  const { status, body: { id } } = await many.systemAdmin.post("/api/v1/reports/generate-async", report);
  assert.equal(status, 202);
  const [job] = await many.steward.platform.sql<{ id: string }[]>`
    select job_id as id from report_executions where id = ${id}`;
  assert.equal(await many.settled(job?.id ?? ""), "Succeeded");
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
