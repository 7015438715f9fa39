// The last release and the present code run side by side on one database, under load: nothing is refused, lost or doubled.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { migrate } from "../../infra/postgres/migrate.ts";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { HttpClient } from "../support/http.ts";
import { signInAdministrator } from "../support/service_process.ts";
import { until } from "../support/until.ts";
import { requireAccepted } from "../trouble/check_accepted.ts";
import { Load } from "../trouble/load.ts";
import { startSystem, type System } from "../trouble/system.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
/** Operations that the load adds in each state of the upgrade. */
const OPERATIONS = 40;
/** A busy machine starts three more processes meanwhile. */
const WITHIN_MS = 300_000;
const TYPE = "upgrade.remote";

const git = async (...args: string[]): Promise<boolean> => {
  const command = new Deno.Command("git", { args, cwd: ROOT, stderr: "null" });
  return (await command.output().catch(() => null))?.success ?? false;
};

/** The commit of the last release, as the changelog names it; null if the history of this checkout does not have it. */
async function lastRelease(): Promise<string | null> {
  const changes = await Deno.readTextFile(`${ROOT}.github/CHANGELOG.md`);
  const commit = /^Commit: ([0-9a-f]{40})$/m.exec(changes)?.[1];
  assert.ok(commit, "the changelog names the commit of the last release");
  return await git("cat-file", "-e", commit) ? commit : null;
}

const release = await lastRelease();

Deno.test({
  name: release
    ? "the last release and the present code share a database"
    : "upgrade (needs the history of git)",
  ignore: release === null,
  async fn() {
    const old = await Deno.makeTempDir({ prefix: "steward-release-" });
    assert.ok(await git("clone", "--quiet", "--shared", "--no-checkout", ROOT, old));
    assert.ok(await git("-C", old, "checkout", "--quiet", release ?? ""));
    const system = await startSystem({ root: old });
    try {
      await upgrade(system, old);
    } finally {
      await system.stop();
      await Deno.remove(old, { recursive: true });
    }
  },
});

async function upgrade(system: System, old: string): Promise<void> {
  const [first, second, third] = system.instances;
  assert.ok(first && second && third);
  const restart = async (instance: typeof first, root?: string) => {
    await instance.process.stop();
    await instance.restart({}, root);
  };
  const load = new Load(system);
  const clients = await startClients(system, load);
  await load.more(OPERATIONS, WITHIN_MS);

  const sql = connectPostgres(system.databaseUrl, { max: 1, work: "migration" });
  const ran = await migrate(sql);
  assert.ok(ran.length > 0, "the release lacks migrations of the present code");
  await load.more(OPERATIONS, WITHIN_MS); // the release works with the new schema

  await restart(first);
  await load.more(OPERATIONS, WITHIN_MS);
  await restart(second);
  await load.more(OPERATIONS, WITHIN_MS);
  await restart(second, old); // and back
  await load.more(OPERATIONS, WITHIN_MS);
  await restart(second);
  await restart(third);
  await load.more(OPERATIONS, WITHIN_MS);

  await clients.stopProducing();
  await load.end();
  const reader = connectPostgres(system.databaseUrl, { max: 1 });
  const { duplicateMails } = await requireAccepted(system, reader, load);
  await clients.end();
  await Promise.all([sql.end(), reader.end()]);
  const repeated = [...load.repeated].join(" ");
  console.log(`${ran.length} migrations; ${load.accepted.length} accepted; repeated: ${repeated}`);
  assert.equal(duplicateMails, 0);
  const { sent, read, settled } = clients;
  assert.ok(settled.length > 0 && sent.length > 0);
  assert.equal(new Set(settled).size, settled.length, "a remote job was settled once");
  assert.deepEqual(read.toSorted(), sent.toSorted(), "the stream showed each message once");
}

interface WorkItem {
  jobId: string;
  attempt: number;
  /** In the answer to a settlement. */
  result?: string;
}

/** A producer and a worker of remote jobs, and a user's stream of messages; each call goes to any of the instances. */
async function startClients(system: System, load: Load) {
  const { url = "" } = system.instances[0] ?? {};
  const admin = new HttpClient(url, await signInAdministrator(url));
  assert.equal((await admin.put(`/api/v1/job-types/${TYPE}`, { maxRetries: 25 })).status, 201);
  const { body: { user: { id: userId } } } = await admin.get("/api/v1/auth/me");
  assert.ok(userId);
  const [sent, read, settled]: [string[], string[], string[]] = [[], [], []];
  let [isProducing, isOpen] = [true, true];

  /** The answer of any instance; null if it gives none, for the moment. */
  async function ask(path: string, init: RequestInit = {}): Promise<Response | null> {
    const { url = "" } = system.instances[Math.floor(Math.random() * system.instances.length)] ?? {};
    const headers = {
      "content-type": "application/json",
      ...init.headers,
      authorization: `Bearer ${admin.token}`,
    };
    const answer = await fetch(url + path, { ...init, headers }).catch(() => null);
    if (answer?.ok) return answer;
    await answer?.body?.cancel();
    await pause(100);
    return null;
  }

  async function work(route: string, body: unknown): Promise<WorkItem[]> {
    const answer = await ask(`/api/v1/work/${route}`, { method: "POST", body: JSON.stringify(body) });
    return (await answer?.json().catch(() => null))?.jobs ?? [];
  }

  async function produce(): Promise<void> {
    while (isProducing) {
      const key = crypto.randomUUID();
      const job = await load.send("/api/v1/jobs", { jobTypeName: TYPE, serializedArgs: "{}" }, key);
      load.accept("job", job?.id, key);
      const message = {
        channel: "InApp",
        recipients: [{ address: userId }],
        subject: key,
        textBody: "accepted",
      };
      if (await load.send("/api/v1/notifications/send", message, crypto.randomUUID())) sent.push(key);
      await pause(100);
    }
  }

  async function workOff(): Promise<void> {
    while (isOpen) {
      const claim = {
        types: [TYPE],
        max: 20,
        waitSeconds: 1,
        worker: "upgrade",
        requestId: crypto.randomUUID(),
      };
      const jobs = (await work("claim", claim)).map((job) => ({ ...job, outcome: "succeeded" }));
      for (let answers: WorkItem[] = []; jobs.length > 0 && answers.length === 0;) {
        answers = await work("settle", {
          jobs: jobs.map(({ jobId, attempt, outcome }) => ({ jobId, attempt, outcome })),
        });
        settled.push(...answers.filter(({ result }) => result === "settled").map(({ jobId }) => jobId));
      }
    }
  }

  async function follow(): Promise<void> {
    let lastId = "";
    while (isOpen) {
      const init = lastId ? { headers: { "last-event-id": lastId } } : {};
      const stream = await ask(`/api/v1/user-notifications/stream?userId=${userId}`, init);
      let buffer = "";
      try {
        for await (const text of stream?.body?.pipeThrough(new TextDecoderStream()) ?? []) {
          buffer += text;
          const parts = buffer.split("\n\n");
          buffer = parts.pop() ?? "";
          for (const part of parts) {
            lastId = /^id: (\d+)$/m.exec(part)?.[1] ?? lastId;
            const data = /^data: (.*)$/m.exec(part)?.[1];
            if (data) read.push(JSON.parse(data).title);
          }
          if (!isOpen) break;
        }
      } catch {
        // the instance has ended: another one goes on after the last id
      }
    }
  }

  const producer = produce();
  const consumers = [workOff(), follow()];
  return {
    sent,
    read,
    settled,
    async stopProducing() {
      isProducing = false;
      await producer;
    },
    async end() {
      await until(() => read.length, (n) => n >= sent.length, { what: "the last message in the stream" });
      isOpen = false;
      await Promise.all(consumers);
    },
  };
}
