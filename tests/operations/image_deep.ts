// The image without Docker: the commands of the Dockerfile run in a copy of what it copies, and its command starts the
// service there as in production.
import assert from "node:assert/strict";
import { join } from "node:path";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { processorMs } from "../../scripts/bench/processor_time.ts";
import { PRODUCTION, SECRETS } from "../support/deployment_secrets.ts";
import { run } from "../support/processes.ts";
import { type ServiceProcess, startServiceProcess } from "../support/service_process.ts";
import { requireAccepted } from "../trouble/check_accepted.ts";
import { Load } from "../trouble/load.ts";
import { startSystem } from "../trouble/system.ts";

const ROOT = join(import.meta.dirname ?? ".", "..", "..");
/** Of the image, without the 175 MB of its base. */
const MAX_MEGABYTES = 75;
const STARTS = 3;

// The runner may put temporary files below /dev, which Deno lets no process read that is restricted to some folders.
const folder = await Deno.makeTempDir({ dir: "/tmp", prefix: "steward-image-" });
const app = join(folder, "app");
const denoDir = join(folder, "deno-dir");
const dockerfile = await Deno.readTextFile(join(ROOT, "Dockerfile"));
Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

const runInApp = (command: string, args: string[], env: Record<string, string> = {}) =>
  run(command, args, { cwd: app, env: { DENO_DIR: denoDir, NO_COLOR: "1", ...env } });

Deno.test("the commands of the image build it, smaller than its limit", async () => {
  await Deno.mkdir(app);
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, it = ""]) =>
    it.split(" ")
  );
  await runInApp("cp", ["-r", ...copied.map((name) => join(ROOT, name)), "."]);
  const ignored = (await Deno.readTextFile(join(ROOT, ".dockerignore"))).split("\n");
  await runInApp("rm", ["-rf", ...ignored.filter((path) => path.startsWith("scripts/"))]);
  const [, commands = ""] = /^RUN ((?:.*\\\n)*.*)$/m.exec(dockerfile) ?? [];
  await runInApp("sh", ["-c", commands.replaceAll("/deno-dir", denoDir)]);
  const megabytes = parseInt(await runInApp("du", ["-sm", folder]));
  console.log(`${megabytes} MB`);
  assert.ok(megabytes <= MAX_MEGABYTES, `${megabytes} MB`);
});

Deno.test("the image starts with less work and memory than the sources, and loses nothing", async () => {
  const { TOKEN_KEYS = "" } = SECRETS;
  const system = await startSystem({ count: 1, env: { TOKEN_KEYS, JOB_CONCURRENCY: "0" } });
  const [sources] = system.instances;
  assert.ok(sources);
  const { DATA_DIR: _folder, KV_PATH: _kv, ...env } = sources.env;
  const production = {
    ...env,
    ...PRODUCTION,
    DENO_DIR: denoDir,
    PORT: "0",
    JOB_CONCURRENCY: "8",
    STEWARD_EXTENSIONS: "scripts/extensions/slack/mod.ts",
  };
  const [, ...args]: string[] = JSON.parse(/^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? "[]");
  const sql = connectPostgres(system.databaseUrl, { max: 1 });
  try {
    await runInApp(Deno.execPath(), ["task", "migrate"], production); // the channel of the extension
    const image = await cheapestStart(() => startServiceProcess(production, { root: app, args }));
    const plain = await cheapestStart(() => startServiceProcess({ ...sources.env, PORT: "0" }));
    console.log(`processor ms and MB at the start: ${image}; of the sources: ${plain}`);
    assert.ok(image[0] < plain[0] && image[1] < plain[1]);

    const service = await startServiceProcess(production, { root: app, args });
    try {
      const load = new Load({ ...system, instances: [{ ...sources, url: service.url }] }, [
        ...["call", "message", "mail", "file", "report"] as const,
      ]);
      await load.more(30, 300_000);
      await load.end();
      await requireAccepted(system, sql, load);
      for (const path of ["/console/sign-in", "/docs", "/openapi.json", "/readyz"]) {
        const answer = await fetch(service.url + path);
        assert.equal(answer.status, 200, path);
        await answer.body?.cancel();
      }
    } finally {
      await service.stop();
    }
    assert.deepEqual(service.output().split("\n").filter((line) => line.includes('"level":"error"')), []);
  } finally {
    await sql.end();
    await system.stop();
  }
});

/** @returns the least processor time in milliseconds, and the least memory in megabytes, of a few starts */
async function cheapestStart(start: () => Promise<ServiceProcess>): Promise<[number, number]> {
  const costs = [];
  for (let n = 0; n < STARTS; n++) {
    const service = await start();
    const status = await Deno.readTextFile(`/proc/${service.pid}/status`);
    costs.push({
      ms: processorMs(service.pid),
      megabytes: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024,
    });
    await service.stop();
  }
  return [Math.min(...costs.map(({ ms }) => ms)), Math.round(Math.min(...costs.map((it) => it.megabytes)))];
}
