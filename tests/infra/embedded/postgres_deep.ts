import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import postgres from "postgres";
import { startEmbeddedPostgres } from "../../../infra/embedded/postgres.ts";
import { connectPostgres } from "../../../infra/postgres/postgres.ts";

const dir = join(await Deno.makeTempDir({ prefix: "steward-test-" }), "postgres");
Deno.test.afterAll(() => Deno.remove(dirname(dir), { recursive: true }));
const o = { dir, password: "test", settings: { fsync: "off" } };

Deno.test("a folder that another process uses is refused, and its server keeps running, reached by its socket file too", async () => {
  const settings = { ...o.settings, unix_socket_directories: dir };
  const server = await startEmbeddedPostgres({ ...o, settings });
  const sql = postgres(server.url, { max: 1 });
  const [before] = await sql`select pg_backend_pid() as pid`;
  await assert.rejects(startEmbeddedPostgres(o), /is in use by another process/);
  const [after] = await sql`select pg_backend_pid() as pid`;
  assert.equal(after?.pid, before?.pid);
  await sql.end();

  if (Deno.build.os !== "windows") {
    const local = connectPostgres(server.url.replace("127.0.0.1", encodeURIComponent(dir)), { max: 1 });
    const heard = Promise.withResolvers<string>();
    await local.listen("news", heard.resolve);
    await local.notify("news", "yes");
    assert.equal(await heard.promise, "yes");
    const addresses =
      await local`select client_addr from pg_stat_activity where backend_type = 'client backend'`;
    assert.deepEqual(addresses.map(({ clientAddr }) => clientAddr), [null, null]);
    await local.end();
  }
  await server.stop();
});

Deno.test("a pid file with the pid of another program stops neither that program nor the start", async () => {
  const other = new Deno.Command("sleep", { args: ["1000"], cwd: dirname(dir) }).spawn();
  await Deno.writeTextFile(join(dir, "postmaster.pid"), `${other.pid}\n${dir}\n1\n1\n\n127.0.0.1\n`);
  await (await startEmbeddedPostgres(o)).stop();
  other.kill("SIGKILL");
  assert.equal((await other.status).signal, "SIGKILL");
});
