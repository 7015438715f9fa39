import assert from "node:assert/strict";
import { join } from "node:path";
import { freePort } from "../../infra/embedded/free_port.ts";
import { findProgram, listens, startQuietly } from "../support/processes.ts";
import { createTestDatabase } from "../support/cluster.ts";
import { startServiceProcess } from "../support/service_process.ts";
import { runScriptProcess } from "../support/run_script.ts";
import { until } from "../support/until.ts";

const pgbouncer = findProgram("pgbouncer");

Deno.test({
  name: "the tour script succeeds through PgBouncer in transaction mode",
  ignore: pgbouncer === undefined,
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "steward-test-" });
    await Deno.chmod(folder, 0o755);
    const url = new URL(await createTestDatabase());
    const port = freePort();
    await Deno.writeTextFile(join(folder, "users.txt"), `"${url.username}" "${url.password}"\n`);
    const settings = [
      "[databases]",
      `* = host=127.0.0.1 port=${url.port} password=${url.password}`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${port}`,
      "unix_socket_dir =",
      "auth_type = plain",
      `auth_file = ${join(folder, "users.txt")}`,
      "pool_mode = transaction",
      "default_pool_size = 8",
    ];
    await Deno.writeTextFile(join(folder, "pgbouncer.ini"), settings.join("\n"));
    const asNobody = Deno.uid() === 0 ? ["-u", "nobody"] : [];
    const pooler = startQuietly(pgbouncer ?? "", [...asNobody, join(folder, "pgbouncer.ini")]);
    url.port = String(port);
    const cleanup: (() => Promise<void>)[] = [];
    try {
      await until(() => listens(port), Boolean, { what: "PgBouncer" });
      const service = await startServiceProcess({
        DATABASE_URL: url.href,
        DATABASE_LISTEN: "false",
        DATA_DIR: join(folder, "data"),
      });
      cleanup.push(() => service.stop());
      const { code, out, err } = await runScriptProcess("tour", [], { env: { STEWARD_URL: service.url } });
      assert.equal(code, 0, out + err);
    } finally {
      for (const stop of cleanup) await stop();
      pooler.kill("SIGKILL");
      await pooler.status;
      await Deno.remove(folder, { recursive: true });
    }
  },
});
