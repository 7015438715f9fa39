import assert from "node:assert/strict";
import { join } from "node:path";
import type { ReportInput } from "../../../domain/reports/make_document.ts";
import { LOOKS } from "./documents.ts";
import { DocumentThreadLost } from "../../../domain/reports/document_thread.ts";
import { DocumentThreads } from "../../../domain/reports/document_threads.ts";
import { FORMAT } from "../../../domain/reports/formats.ts";
import { databaseFailure, PostgresError } from "../../../infra/postgres/failures.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { until } from "../../support/until.ts";

const sources = {
  databaseUrl: await createTestDatabase(),
  databases: {},
  templates: { folder: join(import.meta.dirname ?? ".", "templates"), extensions: [] },
};
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

Deno.test("a thread creates one document after the other and ends when it is idle", async () => {
  const threads = new DocumentThreads(sources, 50);
  for (const rows of [3, 0]) {
    const { text, rowCount } = await textOf(threads.make(inputOf("numbers", { rows }), running()));
    assert.equal(rowCount, rows);
    assert.equal(text, "\ufeffN\r\n" + ["1\r\n", "2\r\n", "3\r\n"].slice(0, rows).join(""));
    assert.equal(threads.idle, 1);
  }
  await new Promise((resolve) => setTimeout(resolve, 150));
  assert.equal(threads.idle, 0);
});

Deno.test("an unreachable database is distinguished from other failures in the thread", async () => {
  const threads = new DocumentThreads({ ...sources, databaseUrl: "postgres://nobody@127.0.0.1:1/none" });
  const failure = await textOf(threads.make(inputOf("numbers", { rows: 1 }), running())).catch((error) =>
    error
  );
  assert.equal(databaseFailure(failure), "unreachable", String(failure));
});

Deno.test("concurrent documents have their own threads; stop ends all threads", async () => {
  const threads = new DocumentThreads(sources);
  const stopping = new AbortController();
  const context = { signal: new AbortController().signal, stopping: stopping.signal };
  const made = await Promise.all(
    [1, 200_000].map((rows) => textOf(threads.make(inputOf("numbers", { rows }), context))),
  );
  assert.deepEqual(made.map(({ rowCount }) => rowCount), [1, 200_000]);
  assert.ok(made[1]?.text.endsWith("\r\n199999\r\n200000\r\n"));
  assert.equal(threads.idle, 2);
  const last = threads.make(inputOf("numbers", { rows: 100_000 }), context);
  await last.next();
  stopping.abort();
  assert.equal(threads.idle, 0);
  assert.equal((await textOf(last)).rowCount, 100_000, "what was begun is made to its end");
  assert.equal(threads.idle, 0);
});

Deno.test("a query's error includes its code, and the thread continues", async () => {
  const threads = new DocumentThreads(sources, 50);
  await assert.rejects(textOf(threads.make(inputOf("numbers", { rows: -1 }), running())), (error) => {
    assert.ok(error instanceof PostgresError && error.code === "22012", String(error));
    return true;
  });
  assert.equal(threads.idle, 1);
  await new Promise((resolve) => setTimeout(resolve, 100));
});

Deno.test("a thread that crashes fails its document, and the next document gets a new thread", async () => {
  const threads = new DocumentThreads(sources, 50);
  await assert.rejects(textOf(threads.make(inputOf("crashing"), running())), (error) => {
    assert.ok(error instanceof DocumentThreadLost);
    assert.match(error.message, /the document thread crashed: .*out of order/);
    return true;
  });
  assert.equal(threads.idle, 0);
  assert.equal((await textOf(threads.make(inputOf("numbers", { rows: 1 }), running()))).rowCount, 1);
  await new Promise((resolve) => setTimeout(resolve, 100));
});

Deno.test("an abort throws its reason soon, cancels the query and leaves a working thread", async () => {
  const threads = new DocumentThreads(sources, 1_000);
  const stop = new AbortController();
  const reason = new Error("not wanted any more");
  const making = textOf(threads.make(inputOf("sleeping"), { ...running(), signal: stop.signal }));
  setTimeout(() => stop.abort(reason), 300);
  const began = performance.now();
  await assert.rejects(making, reason);
  assert.ok(performance.now() - began < 4_000);
  assert.equal(threads.idle, 1);
  const left = threads.make(inputOf("numbers", { rows: 3_000_000 }), running());
  await left.next();
  await left.return(0); // as a store that accepts no more bytes
  assert.equal(threads.idle, 1);
  const stopping = new AbortController();
  const rest = threads.make(inputOf("numbers", { rows: 2 }), { ...running(), stopping: stopping.signal });
  stopping.abort();
  assert.equal((await textOf(rest)).rowCount, 2);
  assert.equal(threads.idle, 0);
});

Deno.test("a hanging thread is terminated once its document is aborted, and the next document gets a new thread", async () => {
  const threads = new DocumentThreads(sources, 50);
  const reason = new Error("over its time");
  const stop = new AbortController();
  const sign = await Deno.makeTempFile();
  const making = textOf(threads.make(inputOf("spinning", { sign }), { ...running(), signal: stop.signal }));
  until(() => Deno.stat(sign).then(() => false, () => true), (spins) => spins).then(() => stop.abort(reason));
  await assert.rejects(making, reason);
  assert.equal(threads.idle, 0);
  assert.equal((await textOf(threads.make(inputOf("numbers", { rows: 1 }), running()))).rowCount, 1);
  await new Promise((resolve) => setTimeout(resolve, 100));
});
