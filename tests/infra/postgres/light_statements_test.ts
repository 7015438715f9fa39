import assert from "node:assert/strict";
import postgres from "postgres";
import { connectPostgres, transact } from "../../../infra/postgres/postgres.ts";
import { until } from "../../support/until.ts";
import { databaseUrl } from "./database.ts";

const sql = connectPostgres(databaseUrl, { max: 1 });
const other = connectPostgres(databaseUrl, { max: 1 });
Deno.test.afterAll(async () => {
  await sql.end();
  await other.end();
});

Deno.test("a statement has every member of the driver's, and the driver recognizes it", () => {
  const own = sql`select 1`;
  const theirs = postgres(databaseUrl, { max: 1 })`select 1`;
  assert.ok(own instanceof theirs.constructor);
  assert.deepEqual(Object.keys(theirs).filter((name) => !(name in own)), []);
});

Deno.test("a statement is sent once, when it is awaited; its parts are never sent", async () => {
  await sql`create temporary table sent (n int)`;
  const unsent = sql`insert into sent values (1)`;
  const sent = sql`insert into sent values (${2}) returning n + ${sql`${3}::int`} as sum`;
  const [first, second] = [await sent, await sent];
  assert.deepEqual([...first], [{ sum: 5 }]);
  assert.equal(second, first);
  assert.deepEqual([...await sql`select n from sent`], [{ n: 2 }]);
  assert.equal((await unsent).count, 1);
});

Deno.test("a failed statement rejects all that await it, with the place that made it in its stack", async () => {
  const ended: string[] = [];
  const failing = sql`select 1 / ${0}::int`;
  const failure: unknown = await failing.finally(() => ended.push("finally")).catch((error) => error);
  assert.ok(failure instanceof postgres.PostgresError);
  assert.equal(failure.code, "22012");
  assert.match(failure.stack ?? "", /light_statements_test/);
  assert.equal(await failing.catch((error) => error), failure);
  assert.deepEqual(ended, ["finally"]);
});

Deno.test("a statement can be cancelled, and a cursor reads its rows in parts", async () => {
  const slow = sql`select pg_sleep(60)`.execute();
  await until(async () => {
    const [row] =
      await other`select count(*)::int as n from pg_stat_activity where query like '%pg_sleep(60)%' and pid <> pg_backend_pid()`;
    return row?.n === 1;
  });
  slow.cancel();
  await assert.rejects(slow, { code: "57014" });
  const parts: number[] = [];
  await transact(sql, async (tx) => {
    for await (const rows of tx`select n from generate_series(1, ${5}) n`.cursor(2)) parts.push(rows.length);
  });
  assert.deepEqual(parts, [2, 2, 1]);
});

Deno.test("a statement whose plan has become invalid is sent again, and each statement gets its own answer", async () => {
  await sql`create table plans as select 1 as id`;
  const asks = [
    (n: number) => sql<{ asked: number }[]>`select *, ${n}::int as asked from plans`,
    (n: number) => sql<{ asked: number }[]>`select ${n}::int as asked`,
  ];
  await Promise.all(asks.map((ask) => ask(0)));
  const answered = async (first: number) => {
    const answers: number[] = [];
    for (const [index, ask] of [...asks, ...asks].entries()) {
      answers.push((await ask(first + index))[0]?.asked ?? -1);
    }
    return answers;
  };
  for (let column = 0; column < 20; column++) {
    await other.unsafe(`alter table plans add column c${column} int`);
    const rounds = await Promise.all(Array.from({ length: 8 }, (_, n) => answered(4 * n)));
    assert.deepEqual(rounds.flat(), [...Array(32).keys()]);
  }
});

Deno.test("a transaction with such statements runs again as a whole, although more of them fail than it has attempts", async () => {
  const names = ["first", "second", "third", "fourth"];
  const run = () =>
    transact(sql, async (tx) => {
      for (const name of names) await tx`select *, 1 as ${tx(name)} from plans`;
      await tx`insert into plans (id) values (2)`;
    }, { attempts: 2 });
  await run();
  await other`alter table plans add column last int`;
  await run();
  assert.equal((await sql`select from plans where id = 2`).count, 2);
});
