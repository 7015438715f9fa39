import assert from "node:assert/strict";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { HttpClient } from "../support/http.ts";
import { startInstances } from "../support/instances.ts";
import { signInAdministrator } from "../support/service_process.ts";
import { until } from "../support/until.ts";
import { runScriptProcess } from "../support/run_script.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { requireAccepted } from "../trouble/check_accepted.ts";
import { Load } from "../trouble/load.ts";
import { startSystem } from "../trouble/system.ts";

const LEASE_SECONDS = 2;
const instances = await startInstances(3, { JOB_LEASE_SECONDS: String(LEASE_SECONDS), JOB_CONCURRENCY: "8" });
const sql = connectPostgres(instances.databaseUrl, { max: 2 });
const signedIn = async () => new HttpClient(instances.url, await signInAdministrator(instances.url));

Deno.test.afterAll(async () => {
  await sql.end();
  await instances.stop();
});

Deno.test("the tour script succeeds when each of its requests goes to another instance", async () => {
  const { code, out, err } = await runScriptProcess("tour", [], { env: { STEWARD_URL: instances.url } });
  assert.equal(code, 0, out + err);
});

Deno.test("after a crash during a request, its idempotency key is free when the lease ends, and the effect happens once", async () => {
  const { hostname, port } = new URL(instances.storeUrl);
  await using store = await TcpProxy.start({ hostname, port: Number(port) });
  await using mail = await TcpProxy.start({ hostname, port: Number(port) });
  mail.blackHole();
  const victim = await instances.start({
    S3_ENDPOINT: `http://127.0.0.1:${store.port}`,
    SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
  });
  const admin = await signedIn();
  const other = new HttpClient(instances.processes[0]?.url ?? "", admin.token);
  const email = `${crypto.randomUUID()}@example.test`;
  const requests: Record<string, [path: string, body: unknown, status: number]> = {
    mail: ["/api/v1/notifications/email", { to: [email], subject: "S", textBody: "T" }, 200],
    file: ["/api/v1/files", {
      profile: "document",
      fileName: email,
      contentType: "text/plain",
      sizeBytes: 12_000_000,
      parts: 2,
    }, 201],
    report: ["/api/v1/reports/generate", { templateId: "users", format: 3, requestedBy: email }, 201],
    user: ["/api/v1/admin/users", {
      email,
      firstName: "A",
      lastName: "B",
      password: "correct horse battery",
    }, 201],
  };
  const send = (to: HttpClient, name: string) => {
    const [path, body] = requests[name] ?? [""];
    return to.post(path, body, { "idempotency-key": `${name}-${email}` });
  };
  store.cut();
  store.blackHole();
  const atVictim = new HttpClient(victim.url, admin.token);
  const sendBroken = (name: string) =>
    send(atVictim, name).then(({ status, body }) => [name, status, body], () => null);
  const broken = ["mail", "file", "report"].map(sendBroken);
  await until(async () => {
    const [row] = await sql<{ n: number }[]>`select
      (select count(*)::int from idempotency_keys where status is null)
      + (select count(*)::int from notifications n join notification_recipients r on r.notification_id = n.id
        where r.address = ${email} and n.status = 'Sending')
      + (select count(*)::int from report_executions where requested_by = ${email} and status = 2) as n`;
    return row?.n === 5 && mail.held > 0 && store.held > 1;
  });
  const locked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  // Last and shortly: the server ends a transaction that does nothing for 8 s, and a statement that waits 3.5 s for a lock.
  const blocking = sql.begin(async (tx) => {
    await tx`lock table users in share mode`; // reads work, writes wait
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  broken.push(sendBroken("user"));
  await until(async () =>
    (await sql`select from pg_stat_activity where datname = current_database()
      and wait_event_type = 'Lock' and query like 'insert into users%'`).count === 1
  );
  victim.kill("SIGKILL");
  await victim.ended;
  assert.deepEqual(await Promise.all(broken), [null, null, null, null]);
  release.resolve();
  await blocking;

  const since = performance.now();
  const answers = await Promise.all(
    Object.keys(requests).map(async (name) => {
      for (;;) {
        const answer = await send(other, name);
        if (answer.status !== 409) return answer;
        assert.equal(answer.body.code, "IDEMPOTENCY_KEY_IN_USE_CONFLICT", name);
        const retryAfter = Number(answer.headers.get("retry-after"));
        assert.ok(retryAfter >= 1 && retryAfter <= LEASE_SECONDS, `${name}: ${retryAfter}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }),
  );
  assert.ok(performance.now() - since < LEASE_SECONDS * 1000 + 3_000, "the key is free when the lease ends");
  for (const [n, [path, , status]] of Object.values(requests).entries()) {
    assert.equal(answers[n]?.status, status, `${path}: ${JSON.stringify(answers[n]?.body)}`);
  }
  const [effects] = await sql`select
    (select count(*)::int from notification_recipients where address = ${email}) as mail,
    (select count(*)::int from files where file_name = ${email}) as file,
    (select count(*)::int from report_executions where requested_by = ${email}) as report,
    (select count(*)::int from users where email = ${email}) as user`;
  assert.deepEqual(effects, { mail: 1, file: 1, report: 1, user: 1 });
  const [message] = await sql`select n.id, n.status from notifications n
    join notification_recipients r on r.notification_id = n.id where r.address = ${email}`;
  assert.deepEqual([answers[0]?.body.notificationId, answers[0]?.body.status], [
    message?.id,
    message?.status,
  ]);
  const again = await send(other, "report");
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.deepEqual(again.body, answers[2]?.body);
});

Deno.test("all accepted work completes although an instance is killed meanwhile", async () => {
  const system = await startSystem();
  const systemSql = connectPostgres(system.databaseUrl, { max: 2 });
  const load = new Load(system);
  await load.more(60, 300_000);
  const victim = system.instances[Math.floor(Math.random() * system.instances.length)];
  victim?.process.kill("SIGKILL");
  await load.more(60, 300_000);
  await victim?.restart();
  await load.end();
  await requireAccepted(system, systemSql, load);
  await systemSql.end();
  await system.stop();
});
