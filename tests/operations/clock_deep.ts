// Two instances share one Postgres and one object store. The clock of one host is correct. The clock of the other host is
// an hour off and changes while its instance runs. That instance runs all jobs.
import assert from "node:assert/strict";
import { decodeJwt } from "jose";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { nextRun } from "../../domain/jobs/cron.ts";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { HttpClient } from "../support/http.ts";
import { startInstances } from "../support/instances.ts";
import { Browser, CLIENT_SECRET, startOidcProvider } from "../support/oidc.ts";
import { accepted } from "../support/outcomes.ts";
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

/** Two instances, of which only that with a wrong clock runs jobs. */
async function startTwoClocks(secondsOff: number) {
  const clock = await fakeClock(secondsOff);
  const provider = await startOidcProvider({
    redirectUris: [`${PUBLIC_URL}/api/v1/auth/oidc/open/callback`],
  });
  const { issuer } = provider;
  const open = { issuer, clientId: "basic", clientSecret: CLIENT_SECRET, autoProvision: true };
  const instances = await startInstances(
    2,
    { PUBLIC_URL, OIDC_PROVIDERS: JSON.stringify({ open }) },
    (index) => index === 0 ? { JOB_CONCURRENCY: "0" } : clock.env,
  );
  const sql = connectPostgres(instances.databaseUrl, { max: 2 });
  await sql`update recurring_jobs set next_run_at = now() - interval '1 ms'`;
  const [right = "", off = ""] = instances.processes.map(({ url }) => url);
  return {
    clock,
    provider,
    sql,
    /** URLs of the instance with the correct clock, and of the other one. */
    right,
    off,
    async stop() {
      await Promise.all([sql.end(), instances.stop(), provider.stop()]);
      await clock.remove();
    },
  };
}
type TwoClocks = Awaited<ReturnType<typeof startTwoClocks>>;

/** Waits until a job has ended. */
async function ended({ sql }: TwoClocks, id: string): Promise<{ status: string; startedAt: Date }> {
  const [job] = await until(
    () =>
      sql<{ status: string; startedAt: Date }[]>`
        select status, started_at from jobs where id = ${id} and completed_at is not null`,
    ({ count }) => count > 0,
    { what: `the end of job ${id}` },
  );
  return job ?? assert.fail();
}

/** Runs the service's own recurring jobs. */
async function sweep(w: TwoClocks, admin: HttpClient): Promise<void> {
  const known = await w.sql<{ jobId: string }[]>`
    select job_id from recurring_jobs where tenant_id is null and job_id <> 'files.rescan-outdated'`;
  for (const { jobId } of known) {
    const { id } = await accepted(admin.post(`/api/v1/recurring-jobs/${jobId}/trigger`), 200);
    assert.equal((await ended(w, id)).status, "Succeeded", jobId);
  }
}

/** More than a busy machine is late, and much less than a clock is off. */
const TOLERANCE_MS = 60_000;

const near = (found: string | Date, expected: number, what: string) => {
  const off = new Date(found).getTime() - expected;
  assert.ok(Math.abs(off) < TOLERANCE_MS, `${what} is ${off} ms off`);
};

async function checkTimes(w: TwoClocks): Promise<void> {
  const token = await signInAdministrator(w.off);
  const [atRight, atOff] = [new HttpClient(w.right, token), new HttpClient(w.off, token)];
  const inMs = (ms: number) => new Date(Date.now() + ms);

  // sessions, tokens and keys
  near(new Date((decodeJwt(token).exp ?? 0) * 1000), Date.now() + 900_000, "the expiry of a token");
  for (const at of [atRight, atOff]) await accepted(at.get("/api/v1/auth/me"), 200);
  const credentials = { email: "admin@steward.local", password: "steward-admin-dev" };
  const { refreshToken } = await accepted(atOff.post("/api/v1/auth/login", credentials), 200);
  await accepted(atOff.post("/api/v1/auth/refresh", { refreshToken }), 200);
  const given = { name: crypto.randomUUID(), permissions: ["read:users"], expiresAt: inMs(1_200_000) };
  const { key } = await accepted(atOff.post("/api/v1/api-keys", given), 201);
  await accepted(new HttpClient(w.off, key).get("/api/v1/users"), 200);
  const browser = new Browser({ [PUBLIC_URL]: w.off });
  const person = `p-${crypto.randomUUID()}`;
  w.provider.accounts.set(person, { email: `${person}@example.test`, email_verified: true });
  const begun = await browser.visit(`${PUBLIC_URL}/api/v1/auth/oidc/open`);
  const callback = await browser.signIn(begun.headers.get("location") ?? "", person);
  const signedIn = await browser.visit(callback);
  assert.equal(signedIn.status, 200, await signedIn.text());

  // reservations and signed URLs
  const bytes = pdf();
  const reserve = (at: HttpClient) =>
    accepted(
      at.post("/api/v1/files", {
        ...{ profile: "document", fileName: "a.pdf", contentType: "application/pdf" },
        ...{ sizeBytes: bytes.length, isProduct: true },
      }),
      201,
    );
  const [kept, lapsed, made] = [await reserve(atRight), await reserve(atRight), await reserve(atOff)];
  near(made.uploadExpiresAt, Date.now() + 900_000, "the expiry of an upload");
  await w.sql`update files set upload_expires_at = now() - interval '1 s' where id = ${lapsed.fileId}`;
  const job = { jobTypeName: "steward.echo", serializedArgs: "{}" };
  const mine = await accepted(atOff.post("/api/v1/jobs", { ...job, scheduledAt: inMs(1_800_000) }));
  await sweep(w, atRight);
  const statuses = [kept, made, lapsed].map(async ({ fileId }) =>
    (await atRight.get(`/api/v1/files/${fileId}`)).body.status
  );
  assert.deepEqual(await Promise.all(statuses), ["Pending", "Pending", "Purged"]);
  assert.equal((await atRight.get(`/api/v1/jobs/${mine.id}`)).body.status, "Scheduled");
  const headers = made.requiredHeaders;
  const put = await fetch(made.uploadUrl, { method: "PUT", headers, body: new Uint8Array(bytes) });
  assert.equal(put.status, 200, await put.text());
  await accepted(atOff.post(`/api/v1/files/${made.fileId}/complete`), 200);
  const [scan] = await w.sql<{ id: string }[]>`
    select id from jobs where job_type_name = 'files.scan' and serialized_args like ${`%${made.fileId}%`}`;
  await ended(w, scan?.id ?? "");
  const download = await accepted(atOff.get(`/api/v1/files/${made.fileId}/download-url`), 200);
  near(download.expiresAt, Date.now() + 300_000, "the expiry of a download");
  assert.equal((await (await fetch(download.url)).bytes()).length, bytes.length);

  // due times and creation order
  const dueAt = inMs(1_000);
  const jobs = [];
  for (const at of [atRight, atOff, atRight]) jobs.push(await accepted(at.post("/api/v1/jobs", job)));
  jobs.push(await accepted(atOff.post("/api/v1/jobs", { ...job, scheduledAt: dueAt })));
  const times = jobs.map(({ createdAt }) => createdAt);
  assert.deepEqual(times, times.toSorted(), "createdAt is in the order of creation");
  const delayMs = (await ended(w, jobs[3].id)).startedAt.getTime() - dueAt.getTime();
  assert.ok(delayMs >= 0 && delayMs < TOLERANCE_MS, `the job started ${delayMs} ms after it was due`);
  const all = await w.sql<{ jobId: string; cronExpression: string; nextRunAt: Date; now: Date }[]>`
    select job_id, cron_expression, next_run_at, clock_timestamp() as now from recurring_jobs`;
  for (const { jobId, cronExpression, nextRunAt, now } of all) {
    const next = nextRun(cronExpression, "UTC", now)?.getTime() ?? 0;
    assert.ok(nextRunAt.getTime() <= next, `${jobId} was moved to ${nextRunAt.toISOString()}`);
    assert.ok(nextRunAt.getTime() > now.getTime() - 65_000, `${jobId} was not fired`);
  }
}

for (const [name, secondsOff] of [["ahead", HOUR_S], ["behind", -HOUR_S]] as const) {
  Deno.test({
    name:
      `expiries and due times stay right with a host clock that is an hour ${name} and is then set by two hours`,
    ignore: !faketimeInstalled,
    async fn() {
      const w = await startTwoClocks(secondsOff);
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
