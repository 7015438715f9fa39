// The service as Deno Deploy runs it, by its documentation: an instance is started by a request and stopped soon after the last
// one, by SIGINT and five seconds later by force; it has 512 MB, no arguments, no KV queue, and writes no files. A container
// with the same settings runs the jobs. This is not Deno Deploy itself.
import assert from "node:assert/strict";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { PRODUCTION, SECRETS } from "../support/deployment_secrets.ts";
import { type ServiceProcess, startServiceProcess } from "../support/service_process.ts";
import { until } from "../support/until.ts";
import { requireAccepted } from "../trouble/check_accepted.ts";
import { type Kind, Load } from "../trouble/load.ts";
import { startSystem } from "../trouble/system.ts";

const IDLE_MS = 1_000;
const KILLED_AFTER_MS = 5_000;
const MEGABYTES = 512;
const BURSTS = 3;
const OPERATIONS = 30;
/** Production has no jobs that sleep. */
const KINDS: Kind[] = ["call", "message", "mail", "file", "report"];
const PRELOAD = new URL("as_on_deploy.ts", import.meta.url).pathname;

/** Starts an instance for a request if none runs, and stops it when it has had no request for a moment. */
class Host {
  readonly #server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (it) => this.#pass(it));
  #instance: Promise<ServiceProcess> | null = null;
  #stopping: Promise<void> = Promise.resolve();
  #running = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Greatest memory of each instance that was stopped, in megabytes. */
  readonly memory: number[] = [];
  readonly errors: string[] = [];
  killed = 0;

  constructor(readonly env: Record<string, string>) {}

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  get isStopped(): boolean {
    return this.#instance === null;
  }

  async #pass(request: Request): Promise<Response> {
    this.#running++;
    clearTimeout(this.#timer);
    try {
      this.#instance ??= this.#stopping.then(() => startServiceProcess(this.env, { preload: PRELOAD }));
      const { url } = await this.#instance;
      const path = request.url.slice(new URL(request.url).origin.length);
      const { method, headers } = request;
      const answer = await fetch(url + path, {
        method,
        headers,
        body: await request.bytes(),
        redirect: "manual",
      });
      return new Response(await answer.bytes(), answer);
    } finally {
      if (--this.#running === 0) this.#timer = setTimeout(() => this.#stopping = this.#stop(), IDLE_MS);
    }
  }

  async #stop(): Promise<void> {
    const instance = await this.#instance;
    this.#instance = null;
    if (!instance) return;
    const status = await Deno.readTextFile(`/proc/${instance.pid}/status`);
    this.memory.push(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024);
    instance.kill("SIGINT");
    const timer = setTimeout(() => {
      this.killed++;
      instance.kill("SIGKILL");
    }, KILLED_AFTER_MS);
    await instance.ended;
    clearTimeout(timer);
    this.errors.push(...instance.output().split("\n").filter((line) => line.includes('"level":"error"')));
  }

  async close(): Promise<void> {
    await this.#server.shutdown();
    clearTimeout(this.#timer);
    await this.#stop();
  }
}

Deno.test("instances that come and go with requests lose nothing, beside a container that runs the jobs", async () => {
  const { TOKEN_KEYS = "" } = SECRETS;
  const system = await startSystem({ count: 1, env: { TOKEN_KEYS } });
  const [container] = system.instances;
  assert.ok(container);
  const { PORT: _port, DATA_DIR: _folder, KV_PATH: _kv, ...env } = container.env;
  const host = new Host({
    ...env,
    ...PRODUCTION,
    MIGRATE_ON_START: "false",
    JOB_CONCURRENCY: "0",
  });
  const sql = connectPostgres(system.databaseUrl, { max: 1 });
  try {
    const loads: Load[] = [];
    for (let burst = 0; burst < BURSTS; burst++) {
      const load = new Load({ ...system, instances: [{ ...container, url: host.url }] }, KINDS);
      loads.push(load);
      await load.more(OPERATIONS, 300_000);
      await load.end();
      await until(() => host.isStopped);
    }
    const accepted = loads.flatMap((load) => load.accepted);
    const refused = loads.flatMap((load) => load.refused);
    await requireAccepted(system, sql, { accepted, refused, givenUp: loads.flatMap((load) => load.givenUp) });
    assert.ok(host.memory.length >= BURSTS, "each burst was answered by an instance of its own");
    assert.deepEqual([host.killed, host.errors], [0, []]);
    assert.ok(Math.max(...host.memory) <= MEGABYTES, `memory: ${host.memory}`);
    console.log(`${accepted.length} accepted; memory of the instances: ${host.memory.map(Math.round)} MB`);
  } finally {
    await host.close();
    await sql.end();
    await system.stop();
  }
});
