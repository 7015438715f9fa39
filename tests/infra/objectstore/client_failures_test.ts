import assert from "node:assert/strict";
import { boundedBody, BoundedS3Client } from "../../../infra/objectstore/s3_client.ts";
import {
  connectObjectStore,
  type ObjectStore,
  ObjectStoreError,
  ObjectStoreRefused,
  ObjectStoreUnavailable,
} from "../../../infra/objectstore/objectstore.ts";
import { systemClock } from "../../../infra/clock.ts";
import { StoreClock } from "../../../infra/objectstore/store_clock.ts";
import { configOf, CREDENTIALS, filesIn, pattern, startTestStore, streamOf } from "./support.ts";
import { until } from "../../support/until.ts";

const test = await startTestStore();
Deno.test.afterAll(() => test.stop());

const MIB = 1024 * 1024;
const KEY = "secret-key-name";

/** A store that answers every request with `handle`. */
async function withServer(
  handle: Deno.ServeHandler,
  use: (store: ObjectStore, endpoint: string) => Promise<void>,
) {
  const stop = new AbortController();
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", signal: stop.signal, onListen() {} }, handle);
  const endpoint = `http://127.0.0.1:${server.addr.port}`;
  try {
    await use(connectObjectStore(configOf(endpoint)), endpoint);
  } finally {
    stop.abort();
    await server.finished;
  }
}

function everyCall(store: ObjectStore): (() => Promise<unknown>)[] {
  return [
    () => store.ping(),
    () => store.ensureBucket(),
    () => store.head(KEY),
    () => store.read(KEY),
    () => store.copy(KEY, KEY, { ifEtag: "e" }),
    () => store.write(KEY, streamOf(pattern(10)), { contentType: "a/b" }),
    () => store.write(KEY, streamOf(pattern(9 * MIB)), { contentType: "a/b" }),
    () => store.delete(KEY),
    () => store.startParts(KEY, { contentType: "a/b" }),
    () => store.listParts(KEY, KEY),
    () => store.joinParts(KEY, { uploadId: KEY, etags: ["0".repeat(32)] }),
    () => store.abortParts(KEY, KEY),
    () => Array.fromAsync(store.list(KEY)),
  ];
}

function assertNoSecrets(error: unknown, endpoint: string): true {
  const shown = Deno.inspect(error, { depth: 10 });
  const { bucket } = configOf(endpoint);
  const { accessKey, secretKey } = CREDENTIALS;
  for (const secret of [KEY, bucket, new URL(endpoint).host, accessKey, secretKey]) {
    assert.ok(!shown.includes(secret), `the error shows ${secret}: ${shown}`);
  }
  return true;
}

/** The errors of these calls, all of which must fail; none shows a name or secret. */
async function errorsOf(calls: (() => Promise<unknown>)[], endpoint: string): Promise<unknown[]> {
  const errors: unknown[] = [];
  for (const call of calls) {
    await assert.rejects(call, (e) => errors.push(e) > 0 && assertNoSecrets(e, endpoint));
  }
  return errors;
}

Deno.test("a store that does not listen or resolve is unavailable, and no error contains key, bucket, host or credentials", async () => {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const endpoint = `http://127.0.0.1:${listener.addr.port}`;
  listener.close();
  const unknown = "http://no-such-host.invalid";
  const refused = await errorsOf(everyCall(connectObjectStore(configOf(endpoint))), endpoint);
  const unresolved = await errorsOf([() => connectObjectStore(configOf(unknown)).ping()], unknown);
  for (const [errors, message] of [[refused, /refused/], [unresolved, /host name was not found/]] as const) {
    for (const e of errors) {
      assert.ok(e instanceof ObjectStoreUnavailable && message.test(e.message), String(e));
    }
  }
});

Deno.test("5xx and throttling mean unavailable, other rejections do not", async () => {
  const answers = [[500, "InternalError"], [503, "SlowDown"], [429, ""], [400, "RequestTimeout"]] as const;
  for (const [status, code] of answers) {
    const handle = () => new Response(`<Error><Code>${code}</Code><Key>${KEY}</Key></Error>`, { status });
    await withServer(handle, async (store, endpoint) => {
      const calls = status === 503 ? everyCall(store) : [() => store.read(KEY)];
      for (const e of await errorsOf(calls, endpoint)) {
        assert.ok(e instanceof ObjectStoreUnavailable, String(e));
      }
    });
  }
});

Deno.test("wrong credentials are refused on every call; a missing bucket is not reported as a missing object", async () => {
  const { endpoint } = test.server;
  const wrong = connectObjectStore({ ...configOf(endpoint), secretKey: "another" });
  for (const e of await errorsOf(everyCall(wrong), endpoint)) {
    assert.ok(e instanceof ObjectStoreRefused && e.status === 403, String(e));
  }
  const missing = connectObjectStore({ ...configOf(endpoint), bucket: "another-bucket" });
  for (const call of everyCall(missing).filter((_, i) => i !== 1)) {
    await assert.rejects(call, (e) => e instanceof ObjectStoreRefused && e.code === "NoSuchBucket");
  }
});

Deno.test("answers that are not S3 become typed errors without their text", async () => {
  const page = () => new Response(`<html>${KEY}</html>`);
  const elsewhere = () => Response.redirect(`http://elsewhere.test/${KEY}`, 307);
  for (const handle of [page, elsewhere]) {
    await withServer(handle, async (store, endpoint) => {
      const calls = [
        () => store.copy(KEY, KEY, { ifEtag: "e" }),
        () => Array.fromAsync(store.list(KEY)),
        () => store.write(KEY, streamOf(pattern(9 * MIB)), { contentType: "a/b" }),
      ];
      for (const e of await errorsOf(calls, endpoint)) assert.ok(e instanceof ObjectStoreError, String(e));
    });
  }
});

Deno.test("a copy or completion that fails after its status 200 is an error", async () => {
  const failed = (code: string) => new Response(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`);
  await withServer(() => failed("InternalError"), async (store) => {
    await assert.rejects(store.copy(KEY, KEY, { ifEtag: "e" }), ObjectStoreUnavailable);
  });
  const calls: string[] = [];
  const handle = async (request: Request) => {
    await request.body?.cancel();
    const { searchParams } = new URL(request.url);
    calls.push(request.method);
    if (searchParams.has("uploads")) return new Response("<R><UploadId>u1</UploadId></R>");
    if (request.method === "PUT") return new Response(null, { headers: { etag: '"e"' } });
    return request.method === "DELETE" ? new Response(null, { status: 204 }) : failed("SlowDown");
  };
  await withServer(handle, async (store) => {
    const body = streamOf(pattern(9 * MIB));
    await assert.rejects(store.write(KEY, body, { contentType: "a/b" }), ObjectStoreUnavailable);
    assert.deepEqual(calls, ["POST", "PUT", "PUT", "POST", "DELETE"]);
  });
});

Deno.test("a list longer than one page is returned completely and in order", async () => {
  const page = (key: string, next = "") =>
    `<ListBucketResult><IsTruncated>${next !== ""}</IsTruncated>${
      next && `<NextContinuationToken>${next}</NextContinuationToken>`
    }<Contents><Key>${key}</Key><LastModified>2026-01-31T12:00:00.000Z</LastModified><ETag>"e"</ETag><Size>3</Size>
    </Contents></ListBucketResult>`;
  const pages: Record<string, string> = {
    "": page("p/1", "a&amp;1"),
    "a&1": page("p/2", "b+2"),
    "b+2": page("p/3"),
  };
  const handle = (request: Request) => {
    const { searchParams } = new URL(request.url);
    assert.equal(searchParams.get("prefix"), "p/");
    return new Response(pages[searchParams.get("continuation-token") ?? ""]);
  };
  await withServer(handle, async (store) => {
    const found = await Array.fromAsync(store.list("p/"), ({ key }) => key);
    assert.deepEqual(found, ["p/1", "p/2", "p/3"]);
  });
});

Deno.test("a store that never answers, and a download that stalls, fail after their time", async () => {
  await withServer(() => new Promise<Response>(() => {}), async (_, endpoint) => {
    const options = { action: "trying", timeoutMs: 50 };
    const client = new BoundedS3Client(configOf(endpoint), options, new StoreClock(systemClock));
    await assert.rejects(client.makeRequest({ method: "GET", objectName: KEY }), (e) => {
      assert.ok(e instanceof ObjectStoreUnavailable);
      assert.equal(e.message, "trying: no answer from the object store within 50 ms");
      return true;
    });
  });
  const abort = new AbortController();
  const stalled = new ReadableStream<Uint8Array>({
    start: (c) => abort.signal.addEventListener("abort", () => c.error(abort.signal.reason)),
  });
  let released = 0;
  const body = boundedBody(stalled, { action: "reading", idleMs: 20, abort, release: () => void released++ });
  await assert.rejects(body.getReader().read(), ObjectStoreUnavailable);
  assert.equal(released, 1);
});

Deno.test("an interrupted download fails and never looks complete", async () => {
  using listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const endpoint = `http://127.0.0.1:${listener.addr.port}`;
  const served = (async () => {
    using connection = await listener.accept();
    await connection.read(new Uint8Array(4096));
    await connection.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\nhalf"));
  })();
  await assert.rejects(async () => {
    for await (const _ of await connectObjectStore(configOf(endpoint)).read(KEY)) { /* read on */ }
  }, (e) => e instanceof ObjectStoreUnavailable && assertNoSecrets(e, endpoint));
  await served;
});

Deno.test("an aborted read fails with the signal's reason, before and during the stream", async () => {
  await test.store.write("aborted", streamOf(pattern(4 * MIB)), { contentType: "a/b" });
  const reason = new Error("enough");
  await assert.rejects(test.store.read("aborted", { signal: AbortSignal.abort(reason) }), reason);
  const abort = new AbortController();
  const reader = (await test.store.read("aborted", { signal: abort.signal })).getReader();
  await reader.read();
  abort.abort(reason);
  await assert.rejects(async () => {
    while (!(await reader.read()).done) { /* chunks that have already arrived */ }
  }, reason);
});

Deno.test("a write that is refused or aborted, or whose source fails, ends its source and leaves neither object nor parts", async () => {
  const before = (await filesIn(test.dir)).length;
  const failing = (async function* () {
    for (let i = 0; i < 10; i++) yield pattern(MIB);
    throw new Error("source broke");
  })();
  const write = (body: ReadableStream<Uint8Array>, signal?: AbortSignal) =>
    test.store.write("failed", body, { contentType: "a/b", signal });
  await assert.rejects(write(ReadableStream.from(failing)), { message: "source broke" });

  const abort = new AbortController();
  let cancelled = false;
  let sent = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(c) {
      if (++sent > 10) return abort.abort(new Error("enough")); // then the write waits for more bytes
      c.enqueue(pattern(MIB));
    },
    cancel: () => void (cancelled = true),
  });
  await assert.rejects(write(endless, abort.signal), { message: "enough" });
  assert.ok(cancelled);
  cancelled = false;
  const wrong = connectObjectStore({ ...configOf(test.server.endpoint), secretKey: "another" });
  const unending = new ReadableStream<Uint8Array>({
    pull: (c) => c.enqueue(pattern(MIB)),
    cancel: () => void (cancelled = true),
  });
  await assert.rejects(wrong.write("failed", unending, { contentType: "a/b" }), ObjectStoreRefused);
  assert.ok(cancelled, "also when the store refuses the write");
  assert.equal(await test.store.head("failed"), null);
  await until(async () => (await filesIn(test.dir)).length === before);
});
