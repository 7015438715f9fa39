import assert from "node:assert/strict";
import { countCached, invalidateCounts } from "../../../domain/shared/count_cache.ts";
import { createLog } from "../../../infra/log.ts";
import {
  announceChange,
  type Broadcast,
  type Change,
  openBroadcast,
  shareChanges,
  subscribeToChanges,
} from "../../../infra/postgres/changes.ts";
import { type Channel, openChannel } from "../../../infra/postgres/channel.ts";
import { connectPostgres, type Pool, transact } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { until } from "../../support/until.ts";

const url = await createTestDatabase();
const pools: Pool[] = [];
const opened = new Set<Channel | Broadcast>();
Deno.test.afterEach(async () => {
  for (const each of opened) await each.stop();
  opened.clear();
});
Deno.test.afterAll(async () => {
  for (const sql of pools) await sql.end();
});

function pool(): Pool {
  const sql = connectPostgres(url, { max: 2 });
  pools.push(sql);
  return sql;
}

const log = createLog("off");

/** Adds what it has heard to a channel or broadcast. */
async function hearing<T extends Channel | Broadcast>(
  open: (o: { sql: Pool; log: typeof log; onMessage(payload: string): void }) => Promise<T>,
) {
  const heard: string[] = [];
  const onMessage = (payload: string) => void (payload && heard.push(payload));
  const made = await open({ sql: pool(), log, onMessage });
  opened.add(made);
  return Object.assign(made, { heard });
}
const channel = (name: string, minIntervalMs: number) =>
  hearing((o) => openChannel({ ...o, name, listens: true, minIntervalMs }));
const openInstance = (name: string, listens = true) => hearing((o) => openBroadcast({ ...o, name, listens }));

/** Instances that have received each other's `here` message. */
async function instancesOn(name: string, count: number) {
  const witness = await channel(name, 0);
  const all: Awaited<ReturnType<typeof openInstance>>[] = [];
  for (let n = 0; n < count; n++) all.push(await openInstance(name));
  const greetings = () => witness.heard.filter((message) => message.startsWith("here ")).length;
  await until(() => greetings() >= count * (count - 1) / 2);
  for (const one of all) await one.send("warm");
  for (const one of all) one.heard.length = 0;
  return all;
}

Deno.test("concurrent notifications are sent together, without duplicate payloads; stopping sends all pending ones", async () => {
  const [one, two] = [await channel("together", 10_000), await channel("together", 0)];
  for (let n = 0; n < 500; n++) one.notify(`p${n % 10}`);
  await one.stop();
  opened.delete(one);
  await until(() => new Set(two.heard).size === 10);
  assert.ok(two.heard.length <= 11, `${two.heard}`);
});

Deno.test("a statement may notify itself once in an interval, and the next notification waits for its end", async () => {
  const [one, two] = [await channel("turns", 10_000), await channel("turns", 0)];
  assert.deepEqual([one.takeTurn(), one.takeTurn()], [true, false]);
  one.notify("afterwards");
  assert.deepEqual(two.heard, []);
  await one.stop();
  opened.delete(one);
  await until(() => two.heard.includes("afterwards"));
});

Deno.test("a send resolves when all instances have received the message, each once and in order", async () => {
  const all = await instancesOn("told", 3);
  const [one, ...others] = all;
  for (let n = 0; n < 5; n++) {
    await one?.send(`a ${n}`);
    for (const other of others) assert.equal(other.heard.at(-1), `a ${n}`);
  }
  for (const other of others) assert.equal(other.heard.length, 5);
  assert.deepEqual(one?.heard, []);
  await Promise.all(all.flatMap((each, who) =>
    Array.from({ length: 5 }, async (_, n) => {
      await each.send(`${who}-${n}`);
      for (const other of all) {
        assert.ok(other === each || other.heard.includes(`${who}-${n}`), `${who}-${n}`);
      }
    })
  ));
});

Deno.test("a send does not wait for an instance that has stopped, and only once for one that does not answer", async () => {
  const [one, two, gone, silent] = await instancesOn("gone", 4);
  assert.ok(one && two && gone && silent);
  await gone.stop();
  opened.delete(gone);
  await pools.at(-1)?.end(); // ends the connections of the silent instance, as when its process is frozen
  opened.delete(silent);
  await one.send("x"); // waits for the silent instance
  const ended: string[] = [];
  const send = (from: typeof one, name: string) => from.send("y").then(() => ended.push(name));
  await Promise.all([send(two, "two, for the first time"), send(one, "one")]);
  assert.deepEqual(ended, ["one", "two, for the first time"]);
});

Deno.test("an instance that cannot listen sends messages, and other instances do not wait for it", async () => {
  const [one, two] = await instancesOn("not-listening", 2);
  const notListening = await openInstance("not-listening", false);
  await notListening.send("from afar");
  await until(() => one?.heard.includes("from afar"));
  await one?.send("x");
  assert.equal(two?.heard.at(-1), "x");
  assert.deepEqual(notListening.heard, []);
});

Deno.test("a message that cannot be sent does not block", async () => {
  const [one] = await instancesOn("lost", 2);
  await pools.at(-2)?.end();
  await one?.send("x");
  opened.clear();
});

Deno.test("an instance that hears another one before its channel is open answers it then", async () => {
  const witness = await channel("early", 0);
  const sql = pool();
  const listen: Pool["listen"] = sql.listen.bind(sql);
  sql.listen = (name, onMessage, listening) => {
    onMessage("hello other");
    return listen(name, onMessage, listening);
  };
  opened.add(await openBroadcast({ sql, name: "early", log, listens: true, onMessage() {} }));
  await until(() => witness.heard.some((message) => message.startsWith("here ")));
});

Deno.test("a large total that one instance has recounted is recounted by the others", async () => {
  const [here, there] = [pool(), pool()];
  const connect = async (sql: Pool) => void opened.add(await shareChanges(sql, { log, listens: true }));
  const witness = await channel("steward_changes", 0);
  await connect(here);
  await connect(there);
  await until(() => witness.heard.some((message) => message.startsWith("here ")));
  let rows = 20_000;
  const totals = () =>
    Promise.all([here, there].map((sql) => countCached(sql, "users", () => Promise.resolve(rows))));
  await transact(here, (tx) => Promise.resolve(invalidateCounts(tx)));
  for (let n = 0; n < 3; n++) {
    const before = rows;
    assert.deepEqual(await totals(), [before, before]);
    rows++;
    assert.deepEqual(await totals(), [before, before], "remembered");
    await transact(here, (tx) => Promise.resolve(invalidateCounts(tx)));
    assert.deepEqual(await totals(), [rows, rows]);
  }
});

Deno.test("a subscriber receives the changes of its topic; after an unknown message anything may have changed", async () => {
  const [here, there] = [pool(), pool()];
  const heard: (string[] | null)[] = [];
  const older = await openInstance("steward_changes"); // of a version with other messages
  for (const sql of [here, there]) opened.add(await shareChanges(sql, { log, listens: true }));
  subscribeToChanges(there, "rights", (ids) => void heard.push(ids));
  const announce = (change: Change) => transact(here, (tx) => Promise.resolve(announceChange(tx, change)));
  await announce({ topic: "rights", ids: ["a", "b"] });
  await announce({ topic: "templates" });
  await announce({ topic: "rights", ids: Array.from({ length: 101 }, (_, n) => `${n}`) });
  await until(() => heard.length === 2);
  assert.deepEqual(heard, [["a", "b"], null]);
  await older.send("templates");
  await until(() => heard.length === 3);
  assert.equal(heard[2], null);
});
