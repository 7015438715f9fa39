// Kills the primary of a Patroni cluster again and again while three instances work under load. Run by
// `deno task test-failover`; takes about ten minutes. FAILOVER_KILLS changes the number of kills. The cluster is three
// Postgres servers that Patroni keeps as one primary and two standbys, with etcd as its store, on loopback in a temporary
// folder. The programs are Debian's packages `patroni`, `etcd-server` and `postgresql`.
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "../../infra/embedded/free_port.ts";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { findProgram, isAlive, startQuietly, succeeds } from "../support/processes.ts";
import { systemPostgresFolder } from "../support/system_postgres.ts";
import { until } from "../support/until.ts";
import { requireAccepted } from "./check_accepted.ts";
import { Load } from "./load.ts";
import { startSystem, type System } from "./system.ts";

const programs = { patroni: findProgram("patroni"), etcd: findProgram("etcd") };
const PASSWORD = "failover";
const MEMBERS = 3;
const AS_POSTGRES = ["--reuid=postgres", "--regid=postgres", "--init-groups", "--"];
/**
 * Seconds. A primary whose machine is gone is replaced after `ttl`. Patroni needs `loop_wait` + 2 × `retry_timeout`
 * within it. From version 3.2 on it raises a smaller `ttl` to 20.
 */
const TIMES = { ttl: 5, loop_wait: 1, retry_timeout: 2 };

/** True if Patroni, etcd and Postgres are installed; tests that need them are skipped otherwise. */
const canRunPatroni = Object.values(programs).every((path) => path !== undefined) &&
  systemPostgresFolder !== undefined && Deno.uid() === 0;

type Member = Awaited<ReturnType<typeof createMember>>;

interface ClusterView {
  members: { name: string; role: string; state: string; timeline?: number }[];
}

const KILLS = Number(Deno.env.get("FAILOVER_KILLS") ?? 20);
const WRITES_AGAIN_MS = 10_000;

/** Ways in which a primary fails, in turn. */
const FAILURES: { name: string; fail(primary: Member): Promise<void> }[] = [
  { name: "the server crashes", fail: (primary) => primary.killPostgres() },
  { name: "the machine is lost", fail: (primary) => primary.killMachine() },
  {
    name: "the machine freezes for 15 s",
    async fail(primary) {
      await primary.freeze();
      setTimeout(() => primary.thaw(), 15_000);
    },
  },
];

Deno.test({
  name: `the primary fails ${KILLS} times: no accepted work is lost, and no instance has to be restarted`,
  ignore: !canRunPatroni,
  async fn() {
    await using cluster = await startPatroni();
    const system = await startSystem({ databaseUrl: cluster.url });
    const sql = connectPostgres(cluster.url, { max: 2 });
    const load = new Load(system);
    const outages: number[] = [];
    try {
      await load.more(30);
      for (let n = 0; n < KILLS; n++) {
        const failure = FAILURES[n % FAILURES.length];
        assert.ok(failure);
        await cluster.settled();
        const primary = await cluster.primary();
        const outage = await longestOutage(load, system, () => failure.fail(primary));
        outages.push(outage);
        console.log(
          `      ${failure.name} (${primary.name}): writes again after ${(outage / 1000).toFixed(1)} s`,
        );
        await primary.thaw();
        primary.start();
      }
      await cluster.settled();
      await load.more(30);
    } finally {
      await load.end();
    }
    try {
      // The old primary's worker may still call while its lease already belongs to another.
      await requireAccepted(system, sql, load, { mayOverlap: true });
      const repeated = JSON.stringify(Object.fromEntries(load.repeated));
      console.log(`      ${load.accepted.length} accepted; repeated: ${repeated}`);
      const p95 = outages.toSorted((a, b) => a - b)[Math.ceil(outages.length * 0.95) - 1] ?? Infinity;
      assert.ok(p95 <= WRITES_AGAIN_MS, `p95 of the time without writes: ${p95} ms`);
    } finally {
      await sql.end();
      await system.stop();
    }
  },
});

/** Three clients write all the time. @returns the longest time without an accepted write after `fail`, in ms */
async function longestOutage(load: Load, system: System, fail: () => Promise<void>): Promise<number> {
  const accepted: number[] = [];
  let isRunning = true;
  const write = async () => {
    while (isRunning) {
      const key = crypto.randomUUID();
      const job = await load.send("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "{}" }, key);
      load.accept("job", job?.id, key);
      if (job) accepted.push(performance.now());
      await pause(100);
    }
  };
  const clients = Promise.all([write(), write(), write()]);
  await pause(1_000);
  const failedAt = performance.now();
  await fail();
  // until writes are accepted again for a while
  const longest = () =>
    Math.max(...accepted.map((at, i) => i === 0 || at < failedAt ? 0 : at - (accepted[i - 1] ?? at)));
  const isOver = () => longest() > 500 && accepted.filter((at) => at > failedAt + longest()).length >= 20;
  while (!isOver() && performance.now() - failedAt < 60_000) await pause(100);
  isRunning = false;
  await clients;
  for (const { process } of system.instances) {
    assert.ok(isAlive(process.pid), `an instance has ended: ${process.output()}`);
  }
  return longest();
}

async function startPatroni() {
  const folder = await Deno.makeTempDir({ prefix: "patroni-" });
  await succeeds("chown", "postgres", folder);
  const etcd = await startEtcd(folder);
  const members: Member[] = [];
  for (let n = 1; n <= MEMBERS; n++) members.push(await createMember(folder, `pg${n}`, etcd.port));
  members[0]?.start(); // it becomes the primary; the others copy it
  await until(() => primaryOf(members), Boolean, { what: "a primary", withinMs: 60_000 });
  for (const member of members.slice(1)) member.start();
  const cluster = {
    /** Connection URL with all hosts. */
    url: `postgres://postgres:${PASSWORD}@${
      members.map(({ port }) => `127.0.0.1:${port}`).join(",")
    }/postgres`,
    /** The member that accepts writes; waits for one. */
    async primary(): Promise<Member> {
      const primary = await until(() => primaryOf(members), Boolean, { what: "a primary", withinMs: 60_000 });
      assert.ok(primary);
      return primary;
    },
    /** Waits until one member is the primary and all others follow it on its timeline, one of them synchronously. */
    async settled() {
      await until(() => viewOf(members), isSettled, {
        what: "one primary and two standbys",
        withinMs: 120_000,
      });
    },
    async [Symbol.asyncDispose]() {
      for (const member of members) {
        await member.thaw();
        await member.killMachine();
      }
      etcd.process.kill("SIGKILL");
      await etcd.process.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
  await cluster.settled();
  return cluster;
}

/**
 * A member that was frozen says for a while that it runs, before Patroni rewinds it. Its timeline is then still that of
 * the former primary.
 */
function isSettled(view: ClusterView | undefined): boolean {
  const leader = view?.members.find(({ role, state }) => role === "leader" && state === "running");
  const standbys =
    view?.members.filter(({ role, state, timeline }) =>
      role !== "leader" && ["streaming", "running"].includes(state) && timeline === leader?.timeline
    ) ?? [];
  return leader !== undefined && standbys.length === MEMBERS - 1 &&
    standbys.some(({ role }) => role === "sync_standby");
}

async function viewOf(members: Member[]): Promise<ClusterView | undefined> {
  for (const { restPort } of members) {
    const view = await ask(restPort, "/cluster");
    if (view) return JSON.parse(view.text);
  }
}

/** The member whose server has no other primary above it, as its own Patroni says. */
async function primaryOf(members: Member[]): Promise<Member | undefined> {
  const answers = await Promise.all(members.map(({ restPort }) => ask(restPort, "/primary")));
  return members[answers.findIndex((answer) => answer?.status === 200)];
}

/** Null if there is no complete answer within a second. */
async function ask(port: number, path: string): Promise<{ status: number; text: string } | null> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(1_000) });
    return { status: answer.status, text: await answer.text() };
  } catch {
    return null;
  }
}

async function startEtcd(folder: string): Promise<{ port: number; process: Deno.ChildProcess }> {
  const [port, peerPort] = [freePort(), freePort()];
  const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
  const process = startQuietly(programs.etcd ?? "etcd", [
    ...["--data-dir", join(folder, "etcd")],
    ...["--listen-client-urls", client, "--advertise-client-urls", client],
    ...["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer],
    ...["--initial-cluster", `default=${peer}`, "--unsafe-no-fsync", "--enable-v2"],
  ]);
  await until(() => ask(port, "/health"), (answer) => answer?.status === 200, { what: "etcd" });
  return { port, process };
}

async function createMember(folder: string, name: string, etcdPort: number) {
  const [port, restPort] = [freePort(), freePort()];
  const [config, data] = [join(folder, `${name}.yml`), join(folder, name)];
  const settings = patroniSettings({ name, data, port, restPort, etcdPort });
  await Deno.writeTextFile(config, JSON.stringify(settings)); // JSON is YAML too
  let patroni: Deno.ChildProcess | undefined;
  const signalServer = async (signal: Deno.Signal) => {
    for (const pid of await serverProcesses(data)) signalIfAlive(pid, signal);
  };
  const signalMachine = async (signal: Deno.Signal) => {
    if (patroni) signalIfAlive(patroni.pid, signal); // first: it would start the server again
    await signalServer(signal);
  };
  return {
    name,
    port,
    restPort,
    /** Kills all processes of the server, as a crash would. Patroni goes on. */
    killPostgres: () => signalServer("SIGKILL"),
    /** Kills the server and its Patroni, as the loss of the machine would. */
    async killMachine() {
      await signalMachine("SIGKILL");
      await patroni?.status;
      patroni = undefined;
    },
    /** Stops all processes of the machine; they go on with `thaw`. */
    freeze: () => signalMachine("SIGSTOP"),
    thaw: () => signalMachine("SIGCONT"),
    /** Starts Patroni if it does not run. */
    start() {
      patroni ??= startQuietly("setpriv", [...AS_POSTGRES, programs.patroni ?? "patroni", config]);
    },
  };
}

function patroniSettings(
  o: { name: string; data: string; port: number; restPort: number; etcdPort: number },
): object {
  const account = (username: string) => ({ username, password: PASSWORD });
  const [address, restAddress] = [o.port, o.restPort].map((port) => `127.0.0.1:${port}`);
  return {
    scope: "steward",
    name: o.name,
    restapi: { listen: restAddress, connect_address: restAddress },
    // Over etcd v3, Patroni before 3.0.3 overwrites the leader key when it goes on after a freeze (patroni#2689). Then two
    // servers are primaries, and what one of them accepted is lost. Over v2 it compares the key first.
    etcd: { host: `127.0.0.1:${o.etcdPort}` },
    bootstrap: {
      dcs: {
        ...TIMES,
        synchronous_mode: true,
        synchronous_mode_strict: true, // otherwise commits right after a promotion are asynchronous
        primary_start_timeout: 0, // a crashed primary is replaced at once
        master_start_timeout: 0, // the same in Patroni before 3.0
        postgresql: {
          use_pg_rewind: true,
          parameters: {
            max_connections: 200,
            wal_log_hints: "on",
            wal_retrieve_retry_interval: "500ms", // how soon a standby follows the new primary; commits wait for it
          },
        },
      },
      initdb: [{ encoding: "UTF8" }, { locale: "C.UTF-8" }, "data-checksums", "no-sync"],
    },
    postgresql: {
      listen: address,
      connect_address: address,
      data_dir: o.data,
      pgpass: `${o.data}.pgpass`,
      bin_dir: systemPostgresFolder,
      authentication: {
        superuser: account("postgres"),
        replication: account("replicator"),
        rewind: account("rewinder"),
      },
      pg_hba: ["host all all 127.0.0.1/32 md5", "host replication replicator 127.0.0.1/32 md5"],
      parameters: { unix_socket_directories: "", fsync: "off" },
    },
  };
}

/** The server with this data folder, and its child processes. */
async function serverProcesses(data: string): Promise<number[]> {
  const [line] = (await Deno.readTextFile(join(data, "postmaster.pid")).catch(() => "")).split("\n");
  const server = Number(line);
  if (!server || !isAlive(server)) return [];
  const children = [];
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await Deno.readTextFile(`/proc/${name}/stat`).catch(() => "");
    const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (Number(parent) === server) children.push(Number(name));
  }
  return [server, ...children];
}

function signalIfAlive(pid: number, signal: Deno.Signal): void {
  if (isAlive(pid)) process.kill(pid, signal);
}
