import assert from "node:assert/strict";
import { join } from "node:path";
import { createTestDatabase } from "./support/cluster.ts";
import { type SpawnedService, spawnService } from "./support/service_process.ts";
import { until } from "./support/until.ts";

/** Starts the whole service as `deno task dev` does, and removes its folder afterwards. */
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

Deno.test("a database without any migration is refused with their number, the first and the last one", async () => {
  const env = { DATABASE_URL: await createTestDatabase({ empty: true }), MIGRATE_ON_START: "false" };
  await withService(env, async ({ ended, output }) => {
    assert.equal(await ended, 1);
    assert.match(
      output(),
      /could not start: the database lacks \d+ migrations \(0001_access\.sql … \d{4}_\w+\.sql\); run `deno task migrate`/,
    );
  });
});

Deno.test("a database that cannot be used is refused with the setting that names it", async () => {
  const url = new URL(await createTestDatabase({ empty: true }));
  url.pathname = "/absent";
  await withService({ DATABASE_URL: url.href }, async ({ ended, output }) => {
    assert.equal(await ended, 1);
    assert.match(
      output(),
      /could not start: the database of DATABASE_URL cannot be used: database "absent" does not exist/,
    );
  });
});

Deno.test("a misspelled setting is named beside the mistakes in the configuration", async () => {
  await withService({ STEWARD_ENV: "production", S3_ENDPOIN: "http://store" }, async ({ ended, output }) => {
    assert.equal(await ended, 78);
    assert.match(output(), /S3_ENDPOINT is missing/);
    assert.match(output(), /the variable S3_ENDPOIN is not a setting; did you mean S3_ENDPOINT\?/);
  });
});

Deno.test("a second service in the same folder is refused with the way out", async () => {
  await withService({}, async ({ folder, ready }) => {
    await ready;
    await withService({ DATA_DIR: folder }, async ({ ended, output }) => {
      assert.equal(await ended, 1);
      const reason =
        /could not start: (\S+) is in use by another process; end that one, or set DATA_DIR to another folder/;
      assert.ok(reason.exec(output())?.[1]?.startsWith(folder), output());
    });
  });
});

Deno.test("a Ctrl-C that arrives twice, as under a task runner, counts as one, and embedded parts stop too", () =>
  withService({}, async (service) => {
    const url = await service.ready;
    // on a busy machine the first checks of a new process may take too long
    await until(() => fetch(`${url}/readyz`).then((r) => r.json()), ({ status }) => status === "ready");
    assert.equal(await postgresRuns(service.folder), true);
    service.kill("SIGINT");
    service.kill("SIGINT");
    assert.equal(await service.ended, 0, service.output());
    assert.equal(await postgresRuns(service.folder), false);
  }));

Deno.test("a start that fails says why and leaves nothing running", async () => {
  const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr as Deno.NetAddr;
  await withService({ PORT: String(port) }, async (service) => {
    assert.equal(await service.ended, 1);
    assert.match(
      service.output(),
      new RegExp(`steward could not start: port ${port} of 127.0.0.1 is in use`),
    );
    assert.equal(await postgresRuns(service.folder), false);
  });
  taken.close();
});

Deno.test("it stops gracefully while its database is unreachable", () =>
  withService({}, async (service) => {
    await service.ready;
    const pid = Number(
      (await Deno.readTextFile(join(service.folder, "postgres", "postmaster.pid"))).split("\n")[0],
    );
    Deno.kill(pid, "SIGKILL");
    service.kill("SIGTERM");
    assert.equal(await service.ended, 0, service.output());
  }));
