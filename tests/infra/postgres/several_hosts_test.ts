import assert from "node:assert/strict";
import { freePort } from "../../../infra/embedded/free_port.ts";
import { databaseFailure } from "../../../infra/postgres/failures.ts";
import { connectPostgres } from "../../../infra/postgres/postgres.ts";
import { databaseUrl } from "../../../infra/setting_shapes.ts";
import { createTestDatabase } from "../../support/cluster.ts";

/** `url` with other hosts before its own one. */
function withHosts(url: string, ...hosts: string[]): string {
  const { host } = new URL(url);
  return url.replace(host, [...hosts, host].join(","));
}
const closed = () => `127.0.0.1:${freePort()}`;

Deno.test("with several hosts, connections go to the one that is the primary", async () => {
  const url = withHosts(await createTestDatabase(), closed(), closed());
  const sql = connectPostgres(url, { max: 3 });
  try {
    const rows = await Promise.all(
      [1, 2, 3].map((n) => sql`select ${n}::int as n, pg_is_in_recovery() as standby`),
    );
    assert.deepEqual(rows.flat(), [1, 2, 3].map((n) => ({ n, standby: false })));
    const heard = Promise.withResolvers<string>();
    await sql.listen("several_hosts", heard.resolve);
    await sql.notify("several_hosts", "yes");
    assert.equal(await heard.promise, "yes");
  } finally {
    await sql.end();
  }
});

Deno.test("if no host is the primary, queries fail as with an unreachable database, and the pool works later", async () => {
  const sql = connectPostgres(`postgres://steward:secret@${closed()},${closed()}/steward`, { max: 2 });
  try {
    for (let n = 0; n < 3; n++) { // also right after a failed search, whose result is shared
      await assert.rejects(sql`select 1`.execute(), (error: Error) => {
        assert.match(
          error.message,
          /^no host of the database URL is the primary: host 1 does not answer, host 2 /,
        );
        return databaseFailure(error) === "unreachable";
      });
    }
  } finally {
    await sql.end();
  }
});

Deno.test("DATABASE_URL may name several hosts", () => {
  for (const hosts of ["db", "db:5433", "db1:5432,db2:5432,[::1]:5432", "127.0.0.1:1,127.0.0.1:2"]) {
    assert.ok(
      databaseUrl.safeParse(`postgres://user:pass%2C@${hosts}/steward?sslmode=require`).success,
      hosts,
    );
  }
  for (
    const url of ["http://db/steward", "postgres://db1:5432,db2:99999/steward", "db1,db2", "postgres://a b/x"]
  ) {
    assert.ok(!databaseUrl.safeParse(url).success, url);
  }
});
