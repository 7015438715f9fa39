// Checks that accepted work survives failures: three instances under load, one failure at a time, then a check of the
// database. Takes some minutes; run by `deno task test-trouble`. All traffic stays on loopback.
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { connectPostgres, type Pool } from "../../infra/postgres/postgres.ts";
import { succeeds } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { requireAccepted } from "./check_accepted.ts";
import { Load } from "./load.ts";
import { LEASE_SECONDS, startSystem, type System } from "./system.ts";

/** How long after the end of a failure requests of every kind must be accepted again. */
const RECOVERS_WITHIN_MS = 15_000;

interface Failure {
  /** Causes the failure, waits, and ends it; the load continues meanwhile. */
  run(s: System): Promise<void>;
  /** A frozen process cannot close its connections, so a request it made looks as if it were still running. */
  mayOverlap?: boolean;
}

const FAILURES: Record<string, Failure> = {
  "an instance is killed": {
    async run({ instances: [first] }) {
      first?.process.kill("SIGKILL");
      await pause(3_000);
      await first?.restart();
    },
  },
  "an instance is frozen for longer than its lease": {
    mayOverlap: true,
    async run({ instances: [, second] }) {
      second?.process.kill("SIGSTOP");
      await pause((LEASE_SECONDS + 7) * 1000);
      second?.process.kill("SIGCONT");
    },
  },
  "Postgres crashes": {
    async run(s) {
      await s.killPostgres();
      await pause(5_000);
      await s.startPostgres();
    },
  },
  "every connection to Postgres is cut": {
    async run({ instances }) {
      for (let n = 0; n < 5; n++) {
        instances.forEach(({ postgres }) => postgres?.cut());
        await pause(1_000);
      }
    },
  },
  "the Postgres connections of one instance are half-open": {
    async run({ instances: [, , third] }) {
      third?.postgres?.halfOpen();
      await pause(10_000);
    },
  },
  "packets between one instance and Postgres are lost": {
    async run({ instances: [first] }) {
      first?.postgres?.blackHole();
      await pause(20_000);
      await first?.postgres?.pass();
    },
  },
  "the object store is down": {
    async run({ store }) {
      await store.refuse();
      await pause(30_000);
      await store.pass();
    },
  },
  "packets to the object store are lost": {
    async run({ store }) {
      store.blackHole();
      await pause(15_000);
      await store.pass();
    },
  },
  "the mail server is down": {
    async run({ mail }) {
      await mail.refuse();
      await pause(40_000);
      await mail.pass();
    },
  },
  "packets to the mail server are lost": {
    async run({ mail }) {
      mail.blackHole();
      await pause(15_000);
      await mail.pass();
    },
  },
};

let system: System | undefined;
let sql: Pool | undefined;

async function running(): Promise<{ s: System; sql: Pool }> {
  system ??= await startSystem();
  sql ??= connectPostgres(system.databaseUrl, { max: 2 });
  return { s: system, sql };
}

Deno.test.afterAll(async () => {
  await sql?.end();
  await system?.stop();
});

for (const [name, failure] of Object.entries(FAILURES)) {
  Deno.test(`${name}: accepted work is not lost, duplicated or stuck`, async () => {
    const { s, sql } = await running();
    await runUnderLoad(name, failure, s, sql);
  });
}

/** Mounts a disk of this size that can be filled: a file system in memory. */
async function mountSmallDisk(megabytes: number) {
  const folder = await Deno.makeTempDir({ prefix: "small-disk-" });
  if (!await succeeds("mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder)) {
    throw new Error(`no file system could be mounted at ${folder}`);
  }
  const filler = `${folder}/filler`;
  return {
    folder,
    /** Fills all free space. */
    async fill() {
      using file = await Deno.open(filler, { create: true, append: true });
      for (let size = 1 << 20; size >= 1;) {
        try {
          await file.write(new Uint8Array(size));
        } catch (error) {
          if (!/os error 28/.test(String(error))) throw error; // no space left on device
          size >>= 1;
        }
      }
    },
    /** Frees the space that `fill` took. */
    clear: () => Deno.remove(filler),
    async unmount() {
      await succeeds("umount", "--lazy", folder);
      await Deno.remove(folder);
    },
  };
}

/** True if this process may mount a disk, which needs root. */
async function mayMount(): Promise<boolean> {
  if (Deno.build.os !== "linux" || Deno.uid() !== 0) return false;
  const folder = await Deno.makeTempDir({ prefix: "small-disk-" });
  const isMounted = await succeeds("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder);
  if (isMounted) await succeeds("umount", folder);
  await Deno.remove(folder);
  return isMounted;
}

Deno.test({
  name: "the disk of Postgres is full: writes are answered 503, and work continues once there is space",
  ignore: !await mayMount(),
  async fn() {
    const disk = await mountSmallDisk(400);
    const full = await startSystem({ postgresFolder: join(disk.folder, "postgres") });
    const sql = connectPostgres(full.databaseUrl, { max: 2 });
    try {
      await runUnderLoad(
        "a full disk",
        {
          async run({ instances }) {
            await disk.fill();
            await pause(10_000);
            const answers = await Promise.all(instances.map(async ({ url }) => {
              const { status, checks } = await (await fetch(`${url}/readyz`)).json();
              return `${status} (disk ${checks.postgresDisk})`;
            }));
            console.log("      /readyz with the disk full:", ...answers);
            assert.ok(!answers.some((answer) => answer.includes("disk ok")), `${answers}`);
            await disk.clear();
            await full.startPostgres(); // it may have stopped because it cannot write its log
          },
        },
        full,
        sql,
      );
    } finally {
      await sql.end();
      await full.stop();
      await disk.unmount();
    }
  },
});

/** Load, failure, recovery, load; then checks and prints the state of the accepted work. */
async function runUnderLoad(name: string, failure: Failure, s: System, sql: Pool): Promise<void> {
  const callsSince = s.calls.length;
  const load = new Load(s);
  let recoveryMs: number;
  try {
    await load.more(30);
    await failure.run(s);
    recoveryMs = await load.more(30);
  } finally {
    await load.end();
  }
  const { mayOverlap = false } = failure;
  const { duplicateMails, drainedMs } = await requireAccepted(s, sql, load, { callsSince, mayOverlap });
  console.log(
    `      ${name}: ${load.accepted.length} accepted, ${duplicateMails} mails sent twice; ` +
      `accepting again after ${seconds(recoveryMs)}, all ended after ${seconds(drainedMs)};`,
    `repeated: ${JSON.stringify(Object.fromEntries(load.repeated))}`,
  );
  assert.ok(recoveryMs <= RECOVERS_WITHIN_MS, `recovered after ${seconds(recoveryMs)}`);
  for (const { url } of s.instances) await ready(url);
}

const ready = (url: string) =>
  until(
    () =>
      fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) }).then((answer) => answer.text(), String),
    (body) => /"status":"(ready|degraded)"/.test(body),
    { what: `readiness of ${url}`, withinMs: RECOVERS_WITHIN_MS },
  );

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
