import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import postgres from "postgres";
import { startEmbeddedPostgres } from "../../../infra/embedded/postgres.ts";

const settings = { fsync: "off" };

async function withFolder(work: (o: Parameters<typeof startEmbeddedPostgres>[0]) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "steward-test-" });
  try {
    await work({ dir: join(folder, "postgres"), password: "test", settings });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a folder that another process uses is refused, and its server keeps running", () =>
  withFolder(async (o) => {
    const server = await startEmbeddedPostgres(o);
    const sql = postgres(server.url, { max: 1 });
    const [before] = await sql`select pg_backend_pid() as pid`;
    await assert.rejects(startEmbeddedPostgres(o), /is in use by another process/);
    const [after] = await sql`select pg_backend_pid() as pid`;
    assert.equal(after?.pid, before?.pid);
    await sql.end();
    await server.stop();
    await (await startEmbeddedPostgres(o)).stop();
  }));

Deno.test("a pid file with the pid of another program stops neither that program nor the start", () =>
  withFolder(async (o) => {
    await (await startEmbeddedPostgres(o)).stop();
    const other = new Deno.Command(Deno.execPath(), {
      args: ["eval", "setInterval(() => {}, 1e6)"],
      cwd: dirname(o.dir),
    }).spawn();
    await Deno.writeTextFile(join(o.dir, "postmaster.pid"), `${other.pid}\n${o.dir}\n1\n1\n\n127.0.0.1\n`);
    await (await startEmbeddedPostgres(o)).stop();
    other.kill("SIGKILL");
    assert.equal((await other.status).signal, "SIGKILL");
  }));
