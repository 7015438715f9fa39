import assert from "node:assert/strict";
import type { Pool } from "../../infra/postgres/postgres.ts";
import { inOneInstance } from "../support/in_one_instance.ts";
import { wholeMetricsPage } from "../support/metrics.ts";
import { Uploading } from "../routes/files/uploading.ts";
import { setupFile } from "../support/setup.ts";
import { until } from "../support/until.ts";

const TOKEN = "a-token-of-the-scraper";
const t = await setupFile({
  METRICS_TOKEN: TOKEN,
  RATE_LIMIT_ANONYMOUS_PER_MINUTE: "5",
  JOB_QUEUES: "default,urgent",
});

const scrape = async (token: string | null = TOKEN) => {
  const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(`${t.url}/metrics`, { headers });
  return { status: response.status, type: response.headers.get("content-type"), text: await response.text() };
};
const wholePage = () => wholeMetricsPage(t.url, { authorization: `Bearer ${TOKEN}` });
const value = (text: string, series: string): number => {
  const line = text.split("\n").find((candidate) => candidate.startsWith(`${series} `));
  assert.ok(line, `${series} is among the metrics`);
  return Number(line.slice(series.length + 1));
};

Deno.test("the metrics page is valid Prometheus text", async () => {
  const { status, type, text } = await scrape();
  assert.equal(status, 200);
  assert.equal(type, "text/plain; version=0.0.4; charset=utf-8");
  const described = new Set<string>();
  for (const line of text.trimEnd().split("\n")) {
    const heading = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line);
    if (heading) {
      assert.ok(!described.has(heading[1] ?? ""), `${heading[1]} is described once`);
      described.add(heading[1] ?? "");
    } else if (!line.startsWith("# HELP ")) {
      const sample = /^([a-z_]+?)(_bucket|_sum|_count)?(\{([a-z]+="[^"\n]*",?)+\})? -?[0-9.e+-]+$/.exec(line);
      assert.ok(sample, `a sample: ${line}`);
      assert.ok(
        described.has(sample[1] ?? "") || described.has(`${sample[1]}${sample[2]}`),
        `described first: ${line}`,
      );
    }
  }
  const { version } = JSON.parse(await Deno.readTextFile("deno.json"));
  assert.equal(value(text, `steward_build_info{version="${version}",deno="${Deno.version.deno}"}`), 1);
});

Deno.test("the metrics page needs METRICS_TOKEN and has no rate limit", async () => {
  for (
    const [token, code] of [[null, "TOKEN_MISSING"], ["another-token-of-a-kind", "TOKEN_INVALID"]] as const
  ) {
    const { status, text } = await scrape(token);
    assert.deepEqual([status, JSON.parse(text).code], [401, code]);
  }
  for (let i = 0; i < 8; i++) assert.equal((await scrape()).status, 200);
});

const OWN = "an instance counts what itself has done";
inOneInstance("requests are counted by route, method and status; ids are never labels", OWN, async () => {
  const actor = await t.actor({ permissions: ["read:users"] });
  const route = `method="GET",route="/api/v1/users/{id}",status="200"`;
  for (let i = 0; i < 3; i++) await actor.get(`/api/v1/users/${actor.userId}`);
  await fetch(`${t.url}/never/${actor.userId}`, { method: "BREW" }).then((response) => response.text());
  const { text } = await scrape();
  assert.equal(value(text, `steward_http_requests_total{${route}}`), 3);
  assert.ok(value(text, `steward_http_requests_total{method="other",route="none",status="404"}`) >= 1);
  assert.equal(
    value(text, `steward_http_request_duration_seconds_count{method="GET",route="/api/v1/users/{id}"}`),
    3,
  );
  for (const id of [actor.userId, actor.tenantId, actor.email]) assert.ok(!text.includes(id ?? "?"));
});

inOneInstance("jobs and deliveries are counted by outcome", OWN, async () => {
  const run = async (jobTypeName: string, args: unknown, more = {}) => {
    const job = { jobTypeName, serializedArgs: JSON.stringify(args), maxRetries: 0, ...more };
    await t.settled((await t.systemAdmin.post("/api/v1/jobs", job)).body.id);
  };
  await run("steward.echo", {}, { queue: "urgent" });
  await run("steward.fail", { message: "as asked" });
  const mail = { to: ["someone@example.test"], subject: "Counted", textBody: "Once" };
  const sent = await t.systemAdmin.post("/api/v1/notifications/email", mail);
  assert.ok(sent.status < 300, JSON.stringify(sent.body));
  const text = await wholePage();
  assert.ok(value(text, `steward_job_attempts_total{type="steward.echo",outcome="Succeeded"}`) >= 1);
  assert.equal(value(text, `steward_job_attempts_total{type="steward.fail",outcome="DeadLettered"}`), 1);
  assert.equal(value(text, `steward_jobs{status="DeadLettered"}`), 1);
  assert.ok(value(text, "steward_jobs_claimed_total") >= 2);
  assert.ok(value(text, `steward_notification_recipients_total{channel="Email",outcome="Sent"}`) >= 1);
  assert.ok(value(text, `steward_database_connections{state="active"}`) >= 1);
});

inOneInstance(
  "reports are counted by format and outcome; failing checks and waiting files are shown",
  OWN,
  async () => {
    const before = await wholePage();
    assert.equal(value(before, `steward_check{check="scanner"}`), 1);
    assert.equal(value(before, "steward_files_scanning"), 0);
    const report = await t.systemAdmin.post("/api/v1/reports/generate", { templateId: "users", format: 3 });
    assert.equal(report.status, 201, JSON.stringify(report.body));
    const { sql } = t.steward.platform;
    const unsettled = () => sql`select from files where status in ('Pending', 'Scanning')`;
    await until(unsettled, ({ count }) => count === 0); // the report's file
    const id = await new Uploading(t).fileIn("Scanning", { tenantId: null });
    await sql`update files set completed_at = now() - interval '1 minute' where id = ${id}`;
    using _ = t.replace((p) => p.scanner, { status: () => Promise.reject(new Error("no answer")) });
    await t.nobody.get("/readyz");
    const text = await wholePage();
    assert.equal(value(text, `steward_check{check="scanner"}`), 0);
    assert.equal(value(text, `steward_check{check="postgres"}`), 1);
    assert.equal(value(text, "steward_files_scanning"), 1);
    assert.ok(value(text, "steward_files_scanning_oldest_seconds") >= 60);
    assert.equal(value(text, `steward_reports_total{format="csv",outcome="Completed"}`), 1);
  },
);

Deno.test("queue names chosen by callers are counted as other, also those of many waiting jobs", async () => {
  const job = { jobTypeName: "steward.echo", serializedArgs: "{}", queue: "made-up-by-someone" };
  await t.systemAdmin.post("/api/v1/jobs", job);
  const text = await wholePage();
  assert.equal(value(text, `steward_queue_depth{queue="other"}`), 1);
  assert.ok(value(text, `steward_queue_oldest_seconds{queue="other"}`) >= 0);
  assert.ok(!text.includes("made-up-by-someone"));
  await t.steward.platform.sql`
    insert into jobs (id, job_type_name, serialized_args, type, status, priority, queue, due_at, max_retries, lane)
    select gen_random_uuid(), 'steward.echo', '{}', 'FireAndForget', 'Enqueued', 2, 'waiting', now(), 0,
      'waiting||' || n % 50 from generate_series(1, 20000) n`;
  await t.steward.sweep();
  assert.equal(value(await wholePage(), `steward_queue_depth{queue="other"}`), 20_001);
});

inOneInstance(
  "while requests hold all connections, the page has the instance's own metrics",
  OWN,
  async () => {
    const { config } = t.steward.platform;
    const sql = t.steward.platform.sql as Pool;
    const held = await Promise.all(Array.from({ length: sql.options.max }, () => sql.reserve()));
    try {
      const { status, text } = await scrape();
      assert.equal(status, 200);
      assert.equal(value(text, "steward_database_metrics"), 0);
      assert.equal(value(text, "steward_database_pool_size"), config.DATABASE_POOL);
      assert.ok(!text.includes("steward_jobs{"), "the database's metrics are missing, not zero");
    } finally {
      for (const connection of held) connection.release();
    }
    assert.ok(value(await wholePage(), `steward_jobs{status="Succeeded"}`) >= 0);
  },
);

inOneInstance(
  "production without a token has no metrics route unless METRICS_PUBLIC is true",
  OWN,
  async () => {
    for (const [METRICS_PUBLIC, expected] of [[false, 404], [true, 200]] as const) {
      using _ = t.replace(({ config }) => config, { METRICS_TOKEN: null, METRICS_PUBLIC });
      const { status, body } = await t.nobody.get("/metrics");
      assert.deepEqual([status, body.code], expected === 404 ? [404, "ROUTE_NOT_FOUND"] : [200, undefined]);
    }
  },
);
