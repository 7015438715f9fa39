import assert from "node:assert/strict";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { HttpClient } from "../support/http.ts";
import { startInstances } from "../support/instances.ts";
import { signInAdministrator } from "../support/service_process.ts";
import { until } from "../support/until.ts";
import { runScriptProcess } from "../support/run_script.ts";

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
  const store = stallable({ hostname, port: Number(port) });
  const mail = stallable(null);
  const victim = await instances.start({ S3_ENDPOINT: store.url("http"), SMTP_URL: mail.url("smtp") });
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
  store.stall();
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
    return row?.n === 5 && mail.connections() > 0 && store.connections() > 1;
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
  store.close();
  mail.close();
});

/** A TCP proxy to `target`, or to a server that accepts and never answers. After `stall` it forwards no new bytes. */
function stallable(target: { hostname: string; port: number } | null) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open: Deno.TcpConn[] = [];
  let isStalled = target === null;
  let stalled = 0;
  const gate = () =>
    new TransformStream<Uint8Array, Uint8Array>({
      async transform(chunk, controller) {
        if (isStalled) {
          stalled++;
          await new Promise(() => {});
        }
        controller.enqueue(chunk);
      },
    });
  (async () => {
    for await (const inward of listener) {
      open.push(inward);
      if (!target) {
        stalled++;
        continue;
      }
      const outward = await Deno.connect(target);
      open.push(outward);
      inward.readable.pipeThrough(gate()).pipeTo(outward.writable).catch(() => {});
      outward.readable.pipeTo(inward.writable).catch(() => {});
    }
  })();
  return {
    url: (scheme: string) => `${scheme}://127.0.0.1:${listener.addr.port}`,
    stall: () => isStalled = true,
    /** How many connections are stalled. */
    connections: () => stalled,
    close() {
      listener.close();
      for (const connection of open) {
        try {
          connection.close();
        } catch {
          // the other end has closed it
        }
      }
    },
  };
}

Deno.test("all accepted work completes although an instance is killed meanwhile", async () => {
  const CLIENTS = 8;
  const admin = await signedIn();
  const accepted = { jobs: [] as string[], notifications: [] as string[], files: [] as string[] };
  let broken = 0;
  const refusals: unknown[] = [];
  /** Sends a request and returns whether it was accepted. A request that runs in the killed instance gets 502. */
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
        channel: "Email",
        recipients: [{ address: `r${n}@example.test` }],
        subject: "S",
        textBody: "T",
      });
      if (sent) accepted.notifications.push(sent.notificationId);
    },
    async () => {
      const reserved = await send("/api/v1/files", {
        profile: "document",
        fileName: "a.txt",
        contentType: "text/plain",
        sizeBytes: content.length,
      });
      if (!reserved) return;
      const put = await fetch(reserved.uploadUrl, {
        method: "PUT",
        headers: reserved.requiredHeaders,
        body: content,
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
  await until(() => accepted.files.length > 40);
  const victim = instances.processes[Math.floor(Math.random() * instances.processes.length)];
  victim?.kill("SIGKILL");
  const before = accepted.files.length;
  await until(() => accepted.files.length > before + 40);
  working = false;
  await Promise.all(clients);
  await victim?.ended;

  assert.deepEqual(refusals, []);
  assert.ok(broken <= CLIENTS, `${broken} requests of ${CLIENTS} clients got 502`);
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
  const isNone = ({ jobs, notifications, files }: Awaited<ReturnType<typeof unfinished>>) =>
    jobs + notifications + files === 0;
  await until(unfinished, isNone, { what: "the end of all accepted work", withinMs: 120_000 });
});
