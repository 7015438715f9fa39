import assert from "node:assert/strict";
import { join } from "node:path";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { HttpClient } from "../support/http.ts";
import { startInstances } from "../support/instances.ts";
import { signInAdministrator } from "../support/service_process.ts";

const LEASE_SECONDS = 2;
const instances = await startInstances(3, { JOB_LEASE_SECONDS: String(LEASE_SECONDS), JOB_CONCURRENCY: "8" });
const sql = connectPostgres(instances.databaseUrl, { max: 2 });
const signedIn = async () => new HttpClient(instances.url, await signInAdministrator(instances.url));

Deno.test.afterAll(async () => {
  await sql.end();
  await instances.stop();
});

async function until(what: string, holds: () => Promise<boolean>, seconds = 30): Promise<number> {
  const since = performance.now();
  while (performance.now() - since < seconds * 1000) {
    if (await holds()) return performance.now() - since;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`${what} did not come true within ${seconds} s`);
}

Deno.test("the whole tour is true when each of its requests meets another instance", async () => {
  const tour = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", join(import.meta.dirname ?? ".", "..", "..", "scripts", "tour.ts")],
    env: { STEWARD_URL: instances.url },
    stdout: "piped",
    stderr: "piped",
  }).output();
  const told = new TextDecoder().decode(tour.stdout) + new TextDecoder().decode(tour.stderr);
  assert.equal(tour.code, 0, told);
});

Deno.test("a right taken away at one instance is gone at the others for the very next request", async () => {
  const admin = await signedIn();
  const email = `${crypto.randomUUID()}@example.test`;
  const { body: tenant } = await admin.post("/api/v1/tenants", { name: `T ${email}`, type: "Standard" });
  assert.ok(tenant.id, JSON.stringify(tenant));
  const [role] = await sql<{ id: string }[]>`
    select id from roles where tenant_id = ${tenant.id} and name = 'Admin'`;
  const created = await admin.post("/api/v1/admin/users", {
    ...{ email, firstName: "A", lastName: "B", password: "correct horse battery" },
    tenants: [{ tenantId: tenant.id, roleIds: [role?.id], isDefault: true }],
  });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const login = await admin.post("/api/v1/auth/login", { email, password: "correct horse battery" });
  assert.equal(login.status, 200, JSON.stringify(login.body));
  const callers = instances.processes.map(({ url }) => new HttpClient(url, login.body.accessToken));
  for (const caller of callers) assert.equal((await caller.get("/api/v1/users")).status, 200);

  const atFirst = new HttpClient(instances.processes[0]?.url ?? "", admin.token);
  assert.equal((await atFirst.delete(`/api/v1/admin/users/${created.body.id}`)).status, 200);
  const refusals = await Promise.all(callers.map((caller) => caller.get("/api/v1/users")));
  assert.deepEqual(refusals.map(({ status }) => status), [401, 401, 401]);
});

Deno.test("what was accepted reaches its end although an instance is killed in the middle", async () => {
  const CLIENTS = 8;
  const admin = await signedIn();
  const accepted = { jobs: [] as string[], notifications: [] as string[], files: [] as string[] };
  let broken = 0;
  const refusals: unknown[] = [];
  /** Sends, and tells whether it was accepted: a request under way in the killed instance breaks off with 502. */
  const send = async (path: string, body?: unknown) => {
    const answer = await admin.post(path, body);
    if (answer.status < 300) return answer.body;
    if (answer.status === 502) broken++;
    else refusals.push([path, answer.status, answer.body]);
    return null;
  };
  const content = new TextEncoder().encode("what was accepted is never lost\n");
  const acts = [
    async (n: number) => {
      const args = JSON.stringify({ milliseconds: 20 + n % 7 * 30 });
      const job = await send("/api/v1/jobs", { jobTypeName: "steward.sleep", serializedArgs: args });
      if (job) accepted.jobs.push(job.jobId ?? job.id);
    },
    async (n: number) => {
      const sent = await send("/api/v1/notifications/send", {
        ...{ channel: "Email", recipients: [{ address: `r${n}@example.test` }], subject: "S", textBody: "T" },
      });
      if (sent) accepted.notifications.push(sent.notificationId);
    },
    async () => {
      const reserved = await send("/api/v1/files", {
        ...{ profile: "document", fileName: "a.txt", contentType: "text/plain", sizeBytes: content.length },
      });
      if (!reserved) return;
      const put = await fetch(reserved.uploadUrl, {
        ...{ method: "PUT", headers: reserved.requiredHeaders, body: content },
      });
      await put.body?.cancel();
      assert.equal(put.status, 200);
      if (await send(`/api/v1/files/${reserved.fileId}/complete`)) accepted.files.push(reserved.fileId);
    },
  ];
  let working = true;
  let n = 0;
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (working) {
      const turn = n++;
      await acts[turn % acts.length]?.(turn);
    }
  });
  const enough = () => Promise.resolve(accepted.files.length > 40);
  await until("a load", enough);
  const victim = instances.processes[Math.floor(Math.random() * instances.processes.length)];
  victim?.kill("SIGKILL");
  const before = accepted.files.length;
  await until("further load", () => Promise.resolve(accepted.files.length > before + 40));
  working = false;
  await Promise.all(clients);
  await victim?.ended;

  assert.deepEqual(refusals, []);
  assert.ok(broken <= CLIENTS, `${broken} requests of ${CLIENTS} clients broke off`);
  const unfinished = async () => {
    const [left] = await sql<{ jobs: number; notifications: number; files: number }[]>`
      select
        (select ${accepted.jobs.length} - count(*)::int from jobs
          where id = any(${accepted.jobs}::uuid[]) and status = 'Succeeded') as jobs,
        (select ${accepted.notifications.length} - count(*)::int from notifications
          where id = any(${accepted.notifications}::uuid[]) and status = 'Sent') as notifications,
        (select ${accepted.files.length} - count(*)::int from files
          where id = any(${accepted.files}::uuid[]) and status = 'Available') as files`;
    return left ?? { jobs: -1, notifications: -1, files: -1 };
  };
  await until("the end of all that was accepted", async () => {
    const { jobs, notifications, files } = await unfinished();
    return jobs + notifications + files === 0;
  }).catch(async (error) => {
    throw new Error(`${error.message}; left: ${JSON.stringify(await unfinished())}`);
  });
});
