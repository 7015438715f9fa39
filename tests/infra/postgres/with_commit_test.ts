import assert from "node:assert/strict";
import { connectPostgres, transact, withCommit } from "../../../infra/postgres/postgres.ts";
import { setup } from "../../support/setup.ts";

const t = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
await sql`create table trailing_rows (id integer primary key check (id < 100))`;

const ids = async () =>
  (await sql<{ id: number }[]>`select id from trailing_rows order by id`).map((r) => r.id);

Deno.test("a statement that goes with the commit is in force once the transaction has resolved", async () => {
  await transact(sql, async (tx) => {
    await tx`insert into trailing_rows values (1)`;
    await withCommit(tx, tx`insert into trailing_rows values (2)`);
  });
  assert.deepEqual(await ids(), [1, 2]);
});

Deno.test("one that fails undoes the transaction and is what it rejects with; later work is not harmed", async () => {
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

Deno.test("one that fails before further statements is what the transaction rejects with, not what follows of it", async () => {
  const failing = transact(sql, async (tx) => {
    await withCommit(tx, tx`insert into trailing_rows values (101)`);
    await tx`insert into trailing_rows values (5)`;
  });
  await assert.rejects(failing, { code: "23514" });
  assert.deepEqual(await ids(), [1, 2, 4]);
});

Deno.test("one that fails in a savepoint undoes the savepoint alone", async () => {
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

Deno.test("a deadlock of one runs the work again", async () => {
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

Deno.test("one whose plan no longer holds is not sent again after the commit that rolled back", async () => {
  const one = connectPostgres(t.steward.platform.config.DATABASE_URL ?? "", { max: 1 });
  try {
    await one`create table changing (id integer primary key, note varchar(10))`;
    const write = (id: number) =>
      transact(one, async (tx) => {
        await tx`insert into changing (id) values (${id + 100})`;
        await withCommit(tx, tx`insert into changing values (${id}, 'x') returning note`);
      });
    await write(1);
    await one`alter table changing alter column note type text`;
    await assert.rejects(write(2), /cached plan must not change result type/);
    assert.deepEqual([...await one`select id from changing order by id`], [{ id: 1 }, { id: 101 }]);
    await write(3);
  } finally {
    await one.end();
  }
});
