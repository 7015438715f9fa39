// The whole service in its own process, as `deno task dev` starts it.
import assert from "node:assert/strict";
import { join } from "node:path";
import { type SpawnedService, spawnService } from "./support/service_process.ts";
import { until } from "./support/until.ts";

/** Starts a service, and removes its folder afterwards. */
async function withService(
  env: Record<string, string>,
  work: (service: SpawnedService & { folder: string }) => Promise<void>,
) {
  const folder = await Deno.makeTempDir({ prefix: "steward-test-" });
  const service = spawnService({ DATA_DIR: folder, ...env });
  try {
    await work({ ...service, folder });
  } finally {
    await service.stop("SIGKILL");
    await Deno.remove(folder, { recursive: true });
  }
}

const postgresRuns = async (folder: string) => {
  const names = await Array.fromAsync(Deno.readDir(join(folder, "postgres")), ({ name }) => name);
  assert.ok(names.includes("PG_VERSION"));
  return names.includes("postmaster.pid");
};

Deno.test("a Ctrl-C that arrives twice, as under a task runner, counts as one, and embedded parts stop too", () =>
  withService({}, async (service) => {
    const { folder } = service;
    const url = await service.ready;
    await withService({ DATA_DIR: folder }, async ({ ended, output }) => {
      assert.equal(await ended, 1, "a second service in the same folder");
      const reason =
        /could not start: (\S+) is in use by another process; end that one, or set DATA_DIR to another folder/;
      assert.ok(reason.exec(output())?.[1]?.startsWith(folder), output());
    });
    // on a busy machine the first checks of a new process may take too long
    await until(() => fetch(`${url}/readyz`).then((r) => r.json()), ({ status }) => status === "ready");
    assert.equal(await postgresRuns(folder), true);
    service.kill("SIGINT");
    service.kill("SIGINT");
    assert.equal(await service.ended, 0, service.output());
    assert.equal(await postgresRuns(folder), false);
  }));

Deno.test("a start that fails says why and leaves nothing running", async () => {
  const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr as Deno.NetAddr;
  await withService({ PORT: String(port) }, async ({ ended, output, folder }) => {
    assert.equal(await ended, 1);
    assert.match(output(), new RegExp(`steward could not start: port ${port} of 127.0.0.1 is in use`));
    assert.equal(await postgresRuns(folder), false);
  });
  taken.close();
});

Deno.test("it stops gracefully while its database is unreachable; with a mail server it names no outbox", () =>
  withService({ SMTP_URL: "smtp://127.0.0.1:9" }, async (service) => {
    await service.ready;
    await until(() => service.output().includes("embedded "));
    assert.doesNotMatch(service.output(), /outbox/);
    const pid = await Deno.readTextFile(join(service.folder, "postgres", "postmaster.pid"));
    Deno.kill(Number(pid.split("\n")[0]), "SIGKILL");
    service.kill("SIGTERM");
    assert.equal(await service.ended, 0, service.output());
  }));
