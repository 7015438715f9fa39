import assert from "node:assert/strict";
import { join } from "node:path";
import { FORMAT } from "../../../domain/documents/formats.ts";
import { DocumentThreads, Slots } from "../../../domain/reports/threads/reports.ts";
import type { ReportInput } from "../../../domain/reports/threads/make_document.ts";
import { databaseFailure, PostgresError } from "../../../infra/postgres/failures.ts";
import { connectPostgres } from "../../../infra/postgres/postgres.ts";
import { until } from "../../support/until.ts";
import { LOOKS } from "../documents/documents.ts";
import { databaseUrl } from "./database.ts";

const sql = connectPostgres(databaseUrl, { max: 1 });
Deno.test.afterAll(() => sql.end());
const templates = { folder: join(import.meta.dirname ?? ".", "templates"), extensions: [] };
const sources = { databaseUrl, databases: {}, templates };
const inputOf = (templateId: string, parameters: Record<string, unknown> = {}): ReportInput => ({
  templateId,
  parameters,
  format: FORMAT.Csv,
  tenantIds: null,
  tenantName: null,
  requestedBy: null,
  generatedAt: new Date("2026-01-01T00:00:00Z"),
  looks: LOOKS,
  replicaUrl: null,
});
const running = () => ({ signal: new AbortController().signal, stopping: new AbortController().signal });
const numbers = (threads: DocumentThreads, rows: number, context = running()) =>
  textOf(threads.make(inputOf("numbers", { rows }), context));

async function textOf(
  pieces: AsyncGenerator<Uint8Array, number>,
): Promise<{ text: string; rowCount: number }> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let text = "";
  for (;;) {
    const { done, value } = await pieces.next();
    if (done) return { text, rowCount: value };
    text += decoder.decode(value, { stream: true });
  }
}

Deno.test("a thread creates one document after the other, also after an error, an outage of the database or an abort; concurrent ones have their own; stop ends all", async () => {
  const threads = new DocumentThreads(sources);
  const isDivision = (error: unknown) => error instanceof PostgresError && error.code === "22012";
  const lines = ["1\r\n", "2\r\n", "3\r\n"];
  for (const rows of [3, -1, 0]) {
    if (rows < 0) await assert.rejects(numbers(threads, rows), isDivision);
    else {
      const { text, rowCount } = await numbers(threads, rows);
      assert.deepEqual([rowCount, text], [rows, "\ufeffN\r\n" + lines.slice(0, rows).join("")]);
    }
    assert.equal(threads.idle, 1);
  }
  const away = { ...inputOf("numbers", { rows: 1 }), replicaUrl: "postgres://nobody@127.0.0.1:1/none" };
  const failure = await textOf(threads.make(away, running())).catch((error) => error);
  assert.equal(databaseFailure(failure), "unreachable", String(failure));

  const queries = () =>
    sql`select from pg_stat_activity where datname = current_database() and state = 'active'
      and query like '%pg_sleep(60)%' and pid <> pg_backend_pid()`;
  const stop = new AbortController();
  const reason = new Error("not wanted any more");
  const making = textOf(threads.make(inputOf("sleeping"), { ...running(), signal: stop.signal }));
  const rejected = assert.rejects(making, reason);
  await until(queries, ({ length }) => length === 1);
  stop.abort(reason);
  await rejected;
  assert.equal((await queries()).length, 0);
  assert.equal(threads.idle, 1);
  const left = threads.make(inputOf("numbers", { rows: 60_000 }), running());
  await left.next();
  await left.return(0); // as a store that accepts no more bytes
  assert.equal(threads.idle, 1);

  const stopping = new AbortController();
  const context = { signal: new AbortController().signal, stopping: stopping.signal };
  const [one, many] = await Promise.all([1, 20_000].map((rows) => numbers(threads, rows, context)));
  assert.deepEqual([one?.rowCount, many?.rowCount], [1, 20_000]);
  assert.ok(many?.text.endsWith("\r\n19999\r\n20000\r\n"));
  assert.equal(threads.idle, 2);
  const last = threads.make(inputOf("numbers", { rows: 50_000 }), context);
  await last.next();
  stopping.abort();
  assert.equal(threads.idle, 0);
  assert.equal((await textOf(last)).rowCount, 50_000, "what was begun is made to its end");
  assert.equal(threads.idle, 0);
});

Deno.test("a thread that crashes, or hangs although its document is aborted, ends, and the next document gets a new one", async () => {
  const threads = new DocumentThreads(sources, 50);
  const crash = { name: "DocumentThreadLost", message: /the document thread crashed: .*out of order/ };
  await assert.rejects(textOf(threads.make(inputOf("crashing"), running())), crash);
  assert.equal(threads.idle, 0);

  const reason = new Error("over its time");
  const stop = new AbortController();
  const sign = await Deno.makeTempFile();
  const making = textOf(threads.make(inputOf("hanging", { sign }), { ...running(), signal: stop.signal }));
  const rejected = assert.rejects(making, reason);
  await until(() => Deno.stat(sign).then(() => false, () => true));
  stop.abort(reason);
  await rejected;
  assert.equal(threads.idle, 0);
});

const never = new AbortController().signal;

Deno.test("slots are assigned up to their number, then in the order of the requests", async () => {
  const slots = new Slots(1);
  const order: string[] = [];
  const first = await slots.take(null, never);
  const second = slots.take(null, never).then((release) => (order.push("second"), release));
  const third = slots.take(null, never).then((release) => (order.push("third"), release));
  assert.equal(slots.waiting, 2);
  first();
  first(); // a second release has no effect
  (await second)();
  (await third)();
  assert.deepEqual(order, ["second", "third"]);
  assert.equal(slots.waiting, 0);
  (await slots.take(null, never))();
});

Deno.test("a request that stops waiting takes no slot", async () => {
  const slots = new Slots(1);
  const release = await slots.take(null, never);
  const patience = new AbortController();
  const waiting = slots.take(null, patience.signal);
  patience.abort(new Error("no longer"));
  await assert.rejects(waiting, /no longer/);
  await assert.rejects(slots.take(null, patience.signal), /no longer/);
  assert.equal(slots.waiting, 0);
  release();
  (await slots.take(null, never))();
});

Deno.test("the next slot goes to the tenant that holds the fewest, then in turn", async () => {
  const slots = new Slots(2);
  const order: string[] = [];
  const held = [await slots.take("busy", never), await slots.take("busy", never)];
  for (const tenant of ["busy", "busy", "busy", "quiet", "other"]) {
    void slots.take(tenant, never).then((release) => {
      order.push(tenant);
      held.push(release);
    });
  }
  assert.deepEqual([slots.waiting, slots.waitingOf("busy")], [5, 3]);
  for (let release; (release = held.shift());) {
    release();
    await new Promise((resolve) => setTimeout(resolve));
  }
  assert.deepEqual(order, ["quiet", "busy", "other", "busy", "busy"]);
});
