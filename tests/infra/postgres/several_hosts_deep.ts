import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { connectPostgres } from "../../../infra/postgres/postgres.ts";
import { startSystemPostgres, systemPostgresInstalled } from "../../support/system_postgres.ts";

Deno.test({
  name: "while a frozen primary does not answer, a connection waits for the standby that replaces it",
  ignore: !systemPostgresInstalled,
  async fn() {
    const postgres = await startSystemPostgres();
    using frozen = Deno.listen({ hostname: "127.0.0.1", port: 0 }); // nobody answers
    await postgres.database("steward");
    const standby = await postgres.standby("steward");
    const direct = connectPostgres(standby.url, { max: 1 });
    const { host } = new URL(standby.url);
    const sql = connectPostgres(standby.url.replace(host, `127.0.0.1:${frozen.addr.port},${host}`), {
      max: 1,
    });
    try {
      await direct`select 1`;
      const answer = sql`select pg_is_in_recovery() as standby`.execute();
      using _ = await frozen.accept();
      await pause(500); // the standby has been asked, too
      await direct`select pg_promote()`;
      assert.deepEqual([...await answer], [{ standby: false }]);
    } finally {
      await Promise.all([sql.end(), direct.end()]);
      await standby.stop();
      await postgres.stop();
    }
  },
});
