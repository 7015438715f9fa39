// Two instances share one Postgres and one object store. The clock of one host is correct. The clock of the other host is
// an hour off and changes while its instance runs. That instance runs all jobs.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { nextRun } from "../../domain/jobs/cron.ts";
import { connectPostgres, type Pool } from "../../infra/postgres/postgres.ts";
import { generateTokenKey } from "../../infra/signing_keys.ts";
import { createTokens } from "../../infra/tokens.ts";
import { HttpClient } from "../support/http.ts";
import { type Instances, startInstances } from "../support/instances.ts";
import { Browser, CLIENT_SECRET, type OidcProvider, startOidcProvider } from "../support/oidc.ts";
import { isFile } from "../support/processes.ts";
import { pdf } from "../support/samples.ts";
import { signInAdministrator } from "../support/service_process.ts";
import { until } from "../support/until.ts";

// libfaketime gives a process and its children a wrong system clock; their monotonic clock stays correct.
const LIBRARY = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"]
  .map((folder) => `${folder}/faketime/libfaketimeMT.so.1`)
  .find(isFile);

/** True if libfaketime is installed on this machine; tests that need it are skipped otherwise. */
const faketimeInstalled = LIBRARY !== undefined;

/** A clock that is `seconds` off. */
async function fakeClock(seconds: number) {
  const file = await Deno.makeTempFile({ prefix: "faketime-" });
  /** Sets the offset in seconds. */
  const set = (seconds: number) => Deno.writeTextFile(file, seconds < 0 ? String(seconds) : `+${seconds}`);
  await set(seconds);
  return {
    /** Environment variables for a process that uses this clock, which notices a change within a second. */
    env: {
      LD_PRELOAD: LIBRARY ?? "",
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    },
    set,
    remove: () => Deno.remove(file),
  };
}

const HOUR_S = 3_600;
const PUBLIC_URL = "https://steward.test/base";

class TwoClocks {
  private constructor(
    readonly clock: Awaited<ReturnType<typeof fakeClock>>,
    readonly provider: OidcProvider,
    readonly instances: Instances,
    readonly keys: Awaited<ReturnType<typeof generateTokenKey>>[],
    readonly sql: Pool,
  ) {}

  static async start(secondsOff: number): Promise<TwoClocks> {
    const clock = await fakeClock(secondsOff);
    const provider = await startOidcProvider({
      redirectUris: [`${PUBLIC_URL}/api/v1/auth/oidc/open/callback`],
    });
    const keys = [await generateTokenKey()];
    const open = {
      issuer: provider.issuer,
      clientId: "basic",
      clientSecret: CLIENT_SECRET,
      autoProvision: true,
    };
    const instances = await startInstances(
      2,
      { PUBLIC_URL, TOKEN_KEYS: JSON.stringify(keys), OIDC_PROVIDERS: JSON.stringify({ open }) },
      (index) => index === 0 ? { JOB_CONCURRENCY: "0" } : clock.env,
    );
    const sql = connectPostgres(instances.databaseUrl, { max: 2 });
    await sql`update recurring_jobs set next_run_at = now()`;
    return new TwoClocks(clock, provider, instances, keys, sql);
  }

  async stop(): Promise<void> {
    await Promise.all([this.sql.end(), this.instances.stop(), this.provider.stop()]);
    await this.clock.remove();
  }

  /** `right` is the URL of the instance with the correct clock, `off` that of the other one. */
  get urls(): [right: string, off: string] {
    const [right, off] = this.instances.processes;
    return [right?.url ?? "", off?.url ?? ""];
  }

  async now(): Promise<Date> {
    const [row] = await this.sql<{ now: Date }[]>`select clock_timestamp() as now`;
    return row?.now ?? new Date(NaN);
  }

  /** Waits until a job has ended. Only the instance with the wrong clock runs jobs. */
  async ended(id: string): Promise<{ status: string; startedAt: Date; createdAt: Date }> {
    const jobs = await until(
      () =>
        this.sql<{ status: string; startedAt: Date; createdAt: Date }[]>`
          select status, started_at, created_at from jobs where id = ${id} and completed_at is not null`,
      ({ count }) => count > 0,
      { what: `the end of job ${id}` },
    );
    return jobs[0] ?? assert.fail();
  }

  async sweep(admin: HttpClient): Promise<void> {
    const known = await this.sql<{ jobId: string }[]>`
      select job_id from recurring_jobs where tenant_id is null and job_id <> 'files.rescan-outdated'`;
    for (const { jobId } of known) {
      const triggered = await admin.post(`/api/v1/recurring-jobs/${jobId}/trigger`);
      assert.equal(triggered.status, 200, JSON.stringify(triggered.body));
      assert.equal((await this.ended(triggered.body.id)).status, "Succeeded", jobId);
    }
  }
}

/** More than a busy machine is late, and much less than a clock is off. */
const TOLERANCE_MS = 60_000;

const near = (found: string | Date, expected: number, what: string) => {
  const off = new Date(found).getTime() - expected;
  assert.ok(Math.abs(off) < TOLERANCE_MS, `${what} is ${off} ms off`);
};

async function checkTimes(w: TwoClocks): Promise<void> {
  const [rightUrl, offUrl] = w.urls;
  const token = await signInAdministrator(offUrl);
  const [atRight, atOff] = [new HttpClient(rightUrl, token), new HttpClient(offUrl, token)];

  // sessions, tokens and keys
  const { exp, sub, sid, ver, tenant_id: tenantId } = JSON.parse(
    atob(token.split(".")[1]?.replaceAll(/[-_]/g, (c) => c === "-" ? "+" : "/") ?? ""),
  );
  near(new Date(exp * 1000), Date.now() + 900_000, "the expiry of a token");
  for (const at of [atRight, atOff]) assert.equal((await at.get("/api/v1/auth/me")).status, 200);
  const tokens = await createTokens({
    keys: w.keys,
    issuer: () => PUBLIC_URL,
    audience: "steward",
    clock: { now: () => signedAt },
  });
  let signedAt = new Date(Date.now() - 880_000);
  const nearlyExpired = new HttpClient(offUrl, await tokens.sign({ sub, sid, tenantId, ver }));
  assert.equal(
    (await nearlyExpired.get("/api/v1/auth/me")).status,
    200,
    "a token in its last seconds is valid",
  );
  signedAt = new Date(Date.now() - 940_000);
  const expired = await new HttpClient(offUrl, await tokens.sign({ sub, sid, tenantId, ver })).get(
    "/api/v1/auth/me",
  );
  assert.deepEqual([expired.status, expired.body.code], [401, "TOKEN_EXPIRED"]);
  const login = await atOff.post("/api/v1/auth/login", {
    email: "admin@steward.local",
    password: "steward-admin-dev",
  });
  const refreshed = await atOff.post("/api/v1/auth/refresh", { refreshToken: login.body.refreshToken });
  assert.equal(refreshed.status, 200, JSON.stringify(refreshed.body));
  const key = await atOff.post("/api/v1/api-keys", {
    name: `K ${crypto.randomUUID()}`,
    permissions: ["read:users"],
    expiresAt: new Date(Date.now() + 1_200_000).toISOString(),
  });
  assert.equal(key.status, 201, JSON.stringify(key.body));
  assert.equal((await new HttpClient(offUrl, key.body.key).get("/api/v1/users")).status, 200);
  const browser = new Browser({ [PUBLIC_URL]: offUrl });
  const person = `p-${crypto.randomUUID()}`;
  w.provider.accounts.set(person, { email: `${person}@example.test`, email_verified: true });
  const begun = await browser.visit(`${PUBLIC_URL}/api/v1/auth/oidc/open`);
  const callback = await browser.signIn(begun.headers.get("location") ?? "", person);
  const signedIn = await browser.visit(callback);
  assert.equal(signedIn.status, 200, await signedIn.text());

  // reservations and signed URLs
  const bytes = pdf();
  const reservation = {
    profile: "document",
    fileName: "a.pdf",
    contentType: "application/pdf",
    sizeBytes: bytes.length,
  };
  const kept = await atRight.post("/api/v1/files", { ...reservation, isProduct: true });
  const lapsed = await atRight.post("/api/v1/files", { ...reservation, isProduct: true });
  const made = await atOff.post("/api/v1/files", { ...reservation, isProduct: true });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  near(made.body.uploadExpiresAt, Date.now() + 900_000, "the expiry of an upload");
  await w.sql`update files set upload_expires_at = now() - interval '1 s' where id = ${lapsed.body.fileId}`;
  const mine = await atOff.post("/api/v1/jobs", {
    jobTypeName: "steward.echo",
    serializedArgs: "{}",
    scheduledAt: new Date(Date.now() + 1_800_000).toISOString(),
  });
  await w.sweep(atRight);
  const statusOf = async (id: string) => (await atRight.get(`/api/v1/files/${id}`)).body.status;
  assert.deepEqual(
    [await statusOf(kept.body.fileId), await statusOf(made.body.fileId), await statusOf(lapsed.body.fileId)],
    ["Pending", "Pending", "Purged"],
  );
  assert.equal((await atRight.get(`/api/v1/jobs/${mine.body.id}`)).body.status, "Scheduled");
  const put = await fetch(made.body.uploadUrl, {
    method: "PUT",
    headers: made.body.requiredHeaders,
    body: new Uint8Array(bytes),
  });
  assert.equal(put.status, 200, await put.text());
  const completed = await atOff.post(`/api/v1/files/${made.body.fileId}/complete`);
  assert.equal(completed.status, 200, JSON.stringify(completed.body));
  const [scan] = await w.sql<{ id: string }[]>`
    select id from jobs where job_type_name = 'files.scan' and serialized_args like ${`%${made.body.fileId}%`}`;
  await w.ended(scan?.id ?? "");
  const given = await atOff.get(`/api/v1/files/${made.body.fileId}/download-url`);
  assert.equal(given.status, 200, JSON.stringify(given.body));
  near(given.body.expiresAt, Date.now() + 300_000, "the expiry of a download");
  const got = await fetch(given.body.url);
  assert.deepEqual([got.status, (await got.arrayBuffer()).byteLength], [200, bytes.length]);

  // due times and creation order
  const enqueue = (at: HttpClient, scheduledAt?: Date) =>
    at.post("/api/v1/jobs", {
      jobTypeName: "steward.echo",
      serializedArgs: "{}",
      scheduledAt: scheduledAt?.toISOString(),
    });
  const dueAt = new Date(Date.now() + 1_000);
  const answers = [
    await enqueue(atRight),
    await enqueue(atOff),
    await enqueue(atRight),
    await enqueue(atOff, dueAt),
  ];
  const times = answers.map(({ body }) => body.createdAt);
  assert.deepEqual(times, times.toSorted(), "createdAt is in the order of creation");
  const delayMs = (await w.ended(answers[3]?.body.id)).startedAt.getTime() - dueAt.getTime();
  assert.ok(delayMs >= 0 && delayMs < TOLERANCE_MS, `the job started ${delayMs} ms after it was due`);
  const jobId = `j-${crypto.randomUUID()}`;
  const before = await w.now();
  const recurring = await atOff.post("/api/v1/recurring-jobs", {
    jobId,
    jobTypeName: "steward.echo",
    cronExpression: "0 * * * *",
    timeZoneId: "UTC",
  });
  const expected = [before, await w.now()].map((now) => nextRun("0 * * * *", "UTC", now)?.toISOString());
  assert.ok(expected.includes(recurring.body.nextRunAt), `${recurring.body.nextRunAt}, expected ${expected}`);
  const all = await w.sql<{ jobId: string; cronExpression: string; nextRunAt: Date }[]>`
    select job_id, cron_expression, next_run_at from recurring_jobs`;
  const now = await w.now();
  for (const { jobId, cronExpression, nextRunAt } of all) {
    const next = nextRun(cronExpression, "UTC", now)?.getTime() ?? 0;
    assert.ok(nextRunAt.getTime() <= next, `${jobId} was moved to ${nextRunAt.toISOString()}`);
    assert.ok(
      nextRunAt.getTime() > now.getTime() - 65_000,
      `${jobId} was not fired since ${nextRunAt.toISOString()}`,
    );
  }
}

for (const [name, secondsOff] of [["ahead", HOUR_S], ["behind", -HOUR_S]] as const) {
  Deno.test({
    name:
      `expiries and due times stay right with a host clock that is an hour ${name} and is then set by two hours`,
    ignore: !faketimeInstalled,
    async fn() {
      const w = await TwoClocks.start(secondsOff);
      try {
        await checkTimes(w);
        await w.clock.set(-secondsOff);
        await new Promise((resolve) => setTimeout(resolve, 1_100)); // libfaketime reads its file once a second
        await checkTimes(w);
      } finally {
        await w.stop();
      }
    },
  });
}

Deno.test("only the modules listed here read the host's clock", async () => {
  const allowed = [
    "infra/clock.ts", // the clock of tests and scripts
    "domain/operations/metrics_page.ts", // the start time of this process
    "infra/http_out/provider_http.ts", // for answers without a Date header
    "infra/log.ts", // the time of a log line
    "infra/mail/outbox.ts", // development only
    "infra/push/fcm.ts", // default of an option
    "infra/openid.ts", // passed to the library
  ];
  const root = join(import.meta.dirname ?? ".", "..", "..");
  const found = [];
  for (const folder of ["domain", "infra", "routes"]) {
    for (const path of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      if (!/\.tsx?$/.test(path) || path.startsWith("embedded/")) continue;
      const text = await Deno.readTextFile(join(root, folder, path));
      if (/\bDate\.now\b|new Date\(\)/.test(text)) found.push(`${folder}/${path}`);
    }
  }
  assert.deepEqual(found.sort(), allowed.sort(), "use the platform's clock");
});
