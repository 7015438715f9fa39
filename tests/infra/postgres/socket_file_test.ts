import assert from "node:assert/strict";
import { join } from "node:path";
import { startEmbeddedPostgres } from "../../../infra/embedded/postgres.ts";
import { setup } from "../../support/setup.ts";

Deno.test({
  name: "the service reaches a server by its socket file, also for LISTEN",
  ignore: Deno.build.os === "windows",
  async fn() {
    const dir = join(await Deno.makeTempDir({ prefix: "steward-socket-" }), "postgres");
    const postgres = await startEmbeddedPostgres({
      dir,
      password: "socket",
      settings: { unix_socket_directories: dir },
    });
    const url = postgres.url.replace("127.0.0.1", encodeURIComponent(dir));
    const t = await setup({ DATABASE_URL: url });
    const { sql } = t.steward.platform;
    const connections = await sql<{ address: string | null; listens: boolean }[]>`
      select client_addr::text as address, query ilike 'listen %' as listens from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend'`;
    assert.deepEqual(connections.map(({ address }) => address).filter((address) => address !== null), []);
    assert.ok(connections.some(({ listens }) => listens));
    assert.equal((await t.systemAdmin.get("/api/v1/auth/me")).status, 200);
    await t.stop();
    await postgres.stop();
  },
});
