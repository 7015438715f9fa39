import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { connectPostgres, isDatabaseAway, transact } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";

Deno.test("a transaction whose connection is ended fails alone: the process and the pool go on", async () => {
  const url = await createTestDatabase();
  const [sql, other] = [connectPostgres(url, { max: 2 }), connectPostgres(url, { max: 1 })];
  try {
    for (let round = 0; round < 5; round++) {
      const started = Promise.withResolvers<number>();
      const work = transact(sql, async (tx) => {
        await tx`create table if not exists lost (id int)`;
        const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
        started.resolve(row?.pid ?? 0);
        await tx`select pg_sleep(60)`;
      });
      await Promise.all([
        assert.rejects(work, isDatabaseAway),
        started.promise.then((pid) => other`select pg_terminate_backend(${pid})`),
      ]);
      await pause(20); // a write into the closed connection would end the process about now
      const answers = await Promise.all(
        [1, 2, 3].map((n) => transact(sql, (tx) => tx`select ${n}::int as n`)),
      );
      assert.deepEqual(answers.map(([row]) => row?.n), [1, 2, 3]);
    }
    assert.equal((await sql`select to_regclass('lost') as it`)[0]?.it, null);
  } finally {
    await sql.end();
    await other.end();
  }
});
