import assert from "node:assert/strict";
import { connectPostgres, transact, withCommit } from "../../../infra/postgres/postgres.ts";
import { atEnd } from "../../support/at_end.ts";
import { databaseUrl } from "./database.ts";

const sql = connectPostgres(databaseUrl, { max: 3 });
Deno.test.afterAll(() => sql.end());
await sql`create table trailing_rows (id integer primary key check (id < 100))`;

const ids = async () =>
  (await sql<{ id: number }[]>`select id from trailing_rows order by id`).map((r) => r.id);

Deno.test("a statement sent with the commit is committed when the transaction resolves", async () => {
  await transact(sql, async (tx) => {
    await tx`insert into trailing_rows values (1)`;
    await withCommit(tx, tx`insert into trailing_rows values (2)`);
  });
  assert.deepEqual(await ids(), [1, 2]);
});

Deno.test("a failing statement rolls the transaction back and rejects it with its error; later transactions work", async () => {
  const failing = transact(sql, async (tx) => {
    await tx`insert into trailing_rows values (3)`;
    await withCommit(tx, tx`insert into trailing_rows values (100)`);
    return "done";
  });
  await assert.rejects(failing, { code: "23514" });
  assert.deepEqual(await ids(), [1, 2]);
  await transact(sql, async (tx) => void await tx`insert into trailing_rows values (4)`);
  assert.deepEqual(await ids(), [1, 2, 4]);
});

Deno.test("the transaction rejects with the first error, not with the errors that follow from it", async () => {
  const failing = transact(sql, async (tx) => {
    await withCommit(tx, tx`insert into trailing_rows values (101)`);
    await tx`insert into trailing_rows values (5)`;
  });
  await assert.rejects(failing, { code: "23514" });
  assert.deepEqual(await ids(), [1, 2, 4]);
});

Deno.test("a failing statement in a savepoint rolls back only the savepoint", async () => {
  await transact(sql, async (tx) => {
    await tx`insert into trailing_rows values (6)`;
    const part = tx.savepoint(async (own) => {
      await own`insert into trailing_rows values (7)`;
      await withCommit(own, own`insert into trailing_rows values (102)`);
    });
    await assert.rejects(part, { code: "23514" });
  });
  assert.deepEqual(await ids(), [1, 2, 4, 6]);
});

Deno.test("after a deadlock of such a statement, the work runs again", async () => {
  await sql`insert into trailing_rows values (20), (21)`;
  const both = Promise.withResolvers<void>();
  let waiting = 2;
  const meet = async () => {
    if (--waiting === 0) both.resolve();
    await both.promise;
  };
  const swap = (first: number, second: number) =>
    transact(sql, async (tx) => {
      await tx`update trailing_rows set id = id where id = ${first}`;
      await meet();
      await withCommit(tx, tx`update trailing_rows set id = id where id = ${second}`);
    });
  await Promise.all([swap(20, 21), swap(21, 20)]);
});

Deno.test("a statement with an invalid plan is not sent again after the rollback; its transaction runs again as a whole", async () => {
  const one = connectPostgres(databaseUrl, { max: 1 });
  await using _ = atEnd(() => one.end());
  await one`create table changing (id integer primary key, note varchar(10))`;
  const write = (id: number) =>
    transact(one, async (tx) => {
      await tx`insert into changing (id) values (${id + 100})`;
      await withCommit(tx, tx`insert into changing values (${id}, 'x') returning note`);
    });
  await write(1);
  await one`alter table changing alter column note type text`;
  await write(2);
  assert.deepEqual((await one`select id from changing order by id`).map(({ id }) => id), [1, 2, 101, 102]);
});
