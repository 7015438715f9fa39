import { setTimeout as pause } from "node:timers/promises";
import { newAccount, tokensOf } from "./access.ts";
import { type BenchSetup, type MeasuredProcess, memoryGrowth, residentMegabytes } from "./bench_setup.ts";
import { percentile, report, scaled } from "./compare.ts";
import { encodeRequest, type LoadRequest, type LoadResult, readResponse, repeat } from "./load.ts";
import { declareType, TYPE } from "./remote_work.ts";
import { populate, signInAdministrator } from "./sample_users.ts";

const USERS = 1_000;
const IDLE = scaled(2_000);
const STREAMS = scaled(500);
const POLLS = scaled(1_000);
/** Connections that each send a request and wait for its answer; more than an instance admits. */
const CROWD = scaled(2_500);
const CROWD_SECONDS = 15;
/** p95 of the answers while more work arrives than fits. */
const BOUND_MS = 4_000;
const READERS = 16;
const READ_SECONDS = 4;
const BUFFER_BYTES = 32 * 1024;

/**
 * Memory and p95 of reads beside many open connections, and while more work arrives than fits: the answers stay fast, and
 * what does not fit gets 503 with Retry-After. Afterwards all is as before.
 */
export async function overload(setup: BenchSetup): Promise<void> {
  const service = await setup.startService();
  const { port } = service;
  const { userId } = await populate(setup.sql, { users: USERS, tenants: 10 });
  const admin = await signInAdministrator(port);
  const read: LoadRequest = { path: `/api/v1/admin/users/${userId}`, headers: admin };
  const reads = () => readers(port, read);
  await reads();
  const before = await reads();
  const memoryBefore = residentMegabytes(service.pid);
  const quiet = { p95: before.p95, memory: memoryBefore };
  await besideOpenConnections(setup, service, reads, quiet);
  await withMoreThanFits(
    service,
    { path: "/api/v1/admin/users?pageSize=20&search=silva", headers: admin },
    quiet,
  );
  const { p95 } = await reads();
  report("p95 of reads after it, against before", p95 / quiet.p95, " ×", { max: 2 });
}

/** A read over some connections. */
const readers = (port: number, read: LoadRequest): Promise<LoadResult> =>
  repeat(port, read, { connections: READERS, seconds: READ_SECONDS });

interface Quiet {
  p95: number;
  memory: number;
}

async function besideOpenConnections(
  setup: BenchSetup,
  service: MeasuredProcess,
  reads: () => Promise<LoadResult>,
  quiet: Quiet,
): Promise<void> {
  const { port, pid } = service;
  const tokens = await tokensOf(setup, port);
  const userIds = await setup.sql<{ userId: string }[]>`
    select user_id from sessions s join users u on u.id = s.user_id where u.email like '%@example.test' order by s.id`;
  await declareType(port);
  const headers = await newAccount(port, ["work:jobs"]);
  const streams = Array.from({ length: STREAMS }, (_, n): LoadRequest => ({
    path: `/api/v1/user-notifications/stream?userId=${userIds[n]?.userId}`,
    headers: { authorization: `Bearer ${tokens[n]}` },
  }));
  const polls = Array.from({ length: POLLS }, (_, n): LoadRequest => ({
    path: "/api/v1/work/claim",
    headers,
    body: { types: [TYPE], max: 1, waitSeconds: 50, worker: `bench-${n}` },
  }));
  const open: Deno.TcpConn[] = [];
  for (let n = 0; n < IDLE; n++) open.push(await Deno.connect({ hostname: "127.0.0.1", port }));
  for (const request of [...streams, ...polls]) {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    await connection.write(encodeRequest(request));
    open.push(connection);
  }
  await untilWaiting(port, STREAMS + POLLS);
  const { p95, perSecond } = await reads();
  const what = `${IDLE} idle connections, ${STREAMS} streams and ${POLLS} long polls`;
  report(`p95 of reads beside ${what}`, p95, " ms");
  report("the same, against without them", p95 / quiet.p95, " ×", { max: 2 });
  report("memory that they add", Math.round(residentMegabytes(pid) - quiet.memory), " MB", { max: 150 });
  console.log(
    `    ${perSecond} reads/s; p95 without them ${quiet.p95} ms; memory without them ${
      Math.round(quiet.memory)
    } MB`,
  );
  for (const connection of open) connection.close();
  const started = performance.now();
  await untilWaiting(port, 0);
  report("time until their places are free", Math.round(performance.now() - started), " ms", { max: 20_000 });
}

/** Waits until this many polls and streams are open. */
async function untilWaiting(port: number, wanted: number): Promise<void> {
  for (;;) {
    const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const [, waiting] = /^steward_requests_waiting (\d+)$/m.exec(page) ?? [];
    if (Number(waiting) === wanted) return;
    await pause(100);
  }
}

async function withMoreThanFits(
  service: MeasuredProcess,
  request: LoadRequest,
  quiet: Quiet,
): Promise<void> {
  const { result, megabytes } = await memoryGrowth(service, () => crowd(service.port, request));
  const { latencies, refused, withoutRetryAfter, others } = result;
  report(`p95 of the answers with ${CROWD} callers at once`, percentile(latencies, 0.95), " ms", {
    max: BOUND_MS,
  });
  report("refusals without Retry-After, and other failures", withoutRetryAfter + others, "", { max: 0 });
  report("memory that they add", megabytes, " MB", { max: 400 });
  const perSecond = Math.round(latencies.length / CROWD_SECONDS);
  console.log(
    `    ${perSecond} answers/s; 503 with Retry-After: ${refused}; p95 of reads before: ${quiet.p95} ms`,
  );
}

/** Each caller sends requests one after another; after a refusal it waits as Retry-After says. */
async function crowd(port: number, request: LoadRequest) {
  const found = { latencies: [] as number[], refused: 0, withoutRetryAfter: 0, others: 0 };
  const bytes = encodeRequest(request);
  const end = performance.now() + CROWD_SECONDS * 1_000;
  await Promise.all(Array.from({ length: CROWD }, async () => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    const buffer = new Uint8Array(BUFFER_BYTES);
    while (performance.now() < end) {
      const before = performance.now();
      await connection.write(bytes);
      const { status, head } = await readResponse(connection, buffer);
      if (status === 200) found.latencies.push(performance.now() - before);
      else if (status !== 503) found.others++;
      else {
        found.refused++;
        const [, seconds] = /\r\nretry-after: (\d+)/i.exec(head) ?? [];
        if (seconds === undefined) found.withoutRetryAfter++;
        await pause(Math.min(Number(seconds ?? 0) * 1_000, Math.max(0, end - performance.now())));
      }
    }
    connection.close();
  }));
  return found;
}
