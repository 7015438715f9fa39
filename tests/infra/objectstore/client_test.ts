import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import {
  connectObjectStore,
  ObjectChanged,
  ObjectNotFound,
  type ObjectStore,
  ObjectStoreRefused,
} from "../../../infra/objectstore/objectstore.ts";
import { onEachServer } from "./each_server.ts";
import { BUCKET, configOf, pattern, startTestStore, streamOf, type TestStore, textOf } from "./support.ts";

const test = onEachServer();

test("ensureBucket may be called again and ping finds the bucket", async ({ store }) => {
  await store.ensureBucket();
  await store.ping();
});

test("a store whose clock is an hour off accepts requests and URLs; returned times use the service's clock", async ({ config }) => {
  for (const ms of [3_600_000, -3_600_000]) {
    const service = { now: () => new Date(Date.now() + ms) };
    const other = connectObjectStore(config, service);
    const key = `clock/${ms}`;
    await other.write(key, streamOf(pattern(10)), { contentType: "text/plain" });
    const near = (at: Date, expected: number) =>
      assert.ok(Math.abs(at.getTime() - expected) < 5_000, at.toISOString());
    for await (const { lastModified } of other.list(key)) near(lastModified, service.now().getTime());
    const upload = other.signUpload(key, {
      contentType: "text/plain",
      sizeBytes: 3,
      expiresInSeconds: 60,
    });
    const put = await fetch(upload.url, { method: "PUT", headers: upload.requiredHeaders, body: "abc" });
    assert.ok(put.ok, await put.text());
    const options = { fileName: "a", expiresInSeconds: 60, now: service.now() };
    const download = other.signDownload(key, options);
    near(download.expiresAt, service.now().getTime() + 60_000);
    const got = await fetch(download.url);
    assert.deepEqual([got.status, await got.text()], [200, "abc"]);
    const expired = other.signDownload(key, {
      ...options,
      now: new Date(service.now().getTime() - 70_000),
    });
    const refused = await fetch(expired.url);
    assert.equal(refused.status, 403, await refused.text());
  }
});

test("ping distinguishes a missing bucket from rejected credentials", async ({ config }) => {
  const missing = connectObjectStore({ ...config, bucket: "no-such-bucket" });
  await assert.rejects(missing.ping(), (e) => e instanceof ObjectStoreRefused && e.code === "NoSuchBucket");
  const wrong = connectObjectStore({ ...config, secretKey: "wrong" });
  await assert.rejects(wrong.ping(), (e) => e instanceof ObjectStoreRefused && e.status === 403);
});

test("a small stream is written, read, looked up and deleted", async ({ store }) => {
  const written = await store.write("small/ü +%?&#'()*.txt", streamOf(pattern(10), pattern(5)), {
    contentType: "text/plain",
  });
  assert.equal(written.sizeBytes, 15);
  assert.match(written.etag, /^[0-9a-f]{32}$/);
  assert.deepEqual(await store.head("small/ü +%?&#'()*.txt"), written);
  const bytes = await new Response(await read(store, "small/ü +%?&#'()*.txt")).bytes();
  assert.deepEqual(bytes, new Uint8Array([...pattern(10), ...pattern(5)]));
  await store.delete("small/ü +%?&#'()*.txt");
  assert.equal(await store.head("small/ü +%?&#'()*.txt"), null);
  await store.delete("small/ü +%?&#'()*.txt");
});

test("an empty stream creates an empty object", async ({ store }) => {
  assert.equal((await store.write("empty", streamOf(), { contentType: "text/plain" })).sizeBytes, 0);
  assert.equal(await textOf(await store.read("empty")), "");
  assert.equal(await textOf(await store.read("empty", { range: { start: 0, end: 99 } })), "");
});

test("a stream longer than one part is written in parts and read back unchanged", async ({ store }) => {
  for (const extra of [0, 1]) { // exactly two parts, and two parts plus one byte
    const chunk = pattern(1024 * 1024, 7);
    const chunks = [...Array(16).fill(chunk), chunk.subarray(0, extra)];
    const written = await store.write("large", streamOf(...chunks), { contentType: "application/x-test" });
    assert.equal(written.sizeBytes, 16 * chunk.length + extra);
    assert.match(written.etag, new RegExp(`^[0-9a-f]{32}-${2 + extra}$`));
    assert.deepEqual(await store.head("large"), written);
    const read = await Array.fromAsync(await store.read("large"));
    assert.ok(Buffer.concat(read).equals(Buffer.concat(chunks)));
  }
});

test("a range includes both its ends, may be open, and is empty past the end", async ({ store }) => {
  await store.write("range", streamOf(new TextEncoder().encode("0123456789")), {
    contentType: "text/plain",
  });
  const ranged = async (range: { start: number; end?: number }) =>
    await textOf(await store.read("range", { range }));
  assert.equal(await ranged({ start: 2, end: 4 }), "234");
  assert.equal(await ranged({ start: 7 }), "789");
  assert.equal(await ranged({ start: 0, end: 0 }), "0");
  assert.equal(await ranged({ start: 8, end: 100 }), "89");
  assert.equal(await ranged({ start: 10 }), "");
});

test("reading a missing object throws ObjectNotFound", async ({ store }) => {
  await assert.rejects(store.read("absent"), ObjectNotFound);
  await assert.rejects(store.read("absent", { range: { start: 0 } }), ObjectNotFound);
});

test("copy requires the given ETag", async ({ store }) => {
  const written = await store.write("staging/ä b+c", streamOf(pattern(1000)), { contentType: "text/html" });
  const copied = await store.copy("staging/ä b+c", "final", { ifEtag: written.etag });
  assert.deepEqual(copied, written);
  assert.deepEqual(await new Response(await read(store, "final")).bytes(), pattern(1000));
  await store.write("staging/ä b+c", streamOf(pattern(1000, 2)), { contentType: "text/html" });
  await assert.rejects(store.copy("staging/ä b+c", "final", { ifEtag: written.etag }), ObjectChanged);
  assert.deepEqual(await store.head("final"), written);
  await assert.rejects(store.copy("absent", "final", { ifEtag: written.etag }), ObjectNotFound);
});

test("copy does not keep the uploader's content encoding and type", async ({ store }) => {
  const signed = store.signUpload("encoded", {
    contentType: "text/html",
    sizeBytes: 4,
    expiresInSeconds: 60,
  });
  const put = await fetch(signed.url, {
    method: "PUT",
    headers: { ...signed.requiredHeaders, "content-encoding": "gzip", "cache-control": "public" },
    body: "raw!",
  });
  assert.equal(put.status, 200, await put.text());
  assert.equal(
    await textOf(await store.read("encoded")),
    "raw!",
    "reads the stored bytes, not decoded ones",
  );
  const { etag } = await store.head("encoded") ?? { etag: "" };
  await store.copy("encoded", "decoded", { ifEtag: etag });
  const { url } = store.signDownload("decoded", { fileName: "a.txt", expiresInSeconds: 60 });
  const got = await fetch(url);
  assert.equal(await got.text(), "raw!");
  assert.equal(got.headers.get("content-encoding"), null);
  assert.equal(got.headers.get("cache-control"), null);
});

test("list returns all keys below a prefix, also beyond one page", async ({ store }) => {
  const keys = ["list/a", "list/a/b", "list/é", "list/z z+z&<>"];
  for (const key of [...keys, "other"]) {
    await store.write(key, streamOf(pattern(3)), { contentType: "text/plain" });
  }
  const found = await Array.fromAsync(store.list("list/"));
  assert.deepEqual(found.map(({ key }) => key).sort(), keys.toSorted());
  assert.ok(
    found.every(({ sizeBytes, lastModified }) => sizeBytes === 3 && Date.now() - +lastModified < 60_000),
  );
});

test("a signed upload accepts exactly the signed size and type", async ({ store }) => {
  const body = pattern(2000);
  const signed = store.signUpload("up/load 1", {
    contentType: "application/pdf",
    sizeBytes: body.length,
    expiresInSeconds: 60,
  });
  const put = async (headers: Record<string, string>, bytes: Uint8Array<ArrayBuffer>) => {
    const answer = await fetch(signed.url, { method: "PUT", headers, body: bytes });
    await answer.body?.cancel();
    return answer.status;
  };
  assert.deepEqual(signed.requiredHeaders, { "Content-Type": "application/pdf", "Content-Length": "2000" });
  assert.equal(await put({ "Content-Type": "text/html" }, body), 403);
  assert.equal(await put({}, body), 403);
  assert.equal(await put({ "Content-Type": "application/pdf" }, pattern(2001)), 403);
  assert.equal(await put({ "Content-Type": "application/pdf" }, pattern(1999)), 403);
  assert.equal(await store.head("up/load 1"), null);
  assert.equal(await put({ "Content-Type": "application/pdf" }, body), 200);
  assert.equal((await store.head("up/load 1"))?.sizeBytes, 2000);
});

test("a signed download is saved under its name and never displayed", async ({ store }) => {
  await store.write("down", streamOf(pattern(9)), { contentType: "text/html" });
  const { url } = store.signDownload("down", {
    fileName: 'Bericht "Ü" 100%.pdf',
    expiresInSeconds: 60,
  });
  const got = await fetch(url);
  assert.deepEqual(await got.bytes(), pattern(9));
  assert.equal(got.headers.get("content-type"), "application/octet-stream");
  assert.equal(
    got.headers.get("content-disposition"),
    "attachment; filename=\"Bericht ___ 100_.pdf\"; filename*=UTF-8''Bericht%20%22%C3%9C%22%20100%25.pdf",
  );
});

test("signed URLs have an expiry and are rejected from then on", async ({ store }) => {
  const now = new Date("2026-01-31T12:00:00.700Z");
  const upload = store.signUpload("k", {
    contentType: "a/b",
    sizeBytes: 1,
    expiresInSeconds: 900,
    now,
  });
  assert.deepEqual(upload.expiresAt, new Date("2026-01-31T12:15:00Z"));
  const past = new Date(Date.now() - 302_000);
  const { url } = store.signDownload("down", { fileName: "a", expiresInSeconds: 300, now: past });
  const got = await fetch(url);
  await got.body?.cancel();
  assert.equal(got.status, 403);
});

async function read(store: ObjectStore, key: string) {
  return await store.read(key) as ReadableStream<Uint8Array<ArrayBuffer>>;
}

let local: TestStore;
Deno.test.beforeAll(async () => void (local = await startTestStore()));
Deno.test.afterAll(() => local.stop());

Deno.test("URLs are signed for the public endpoint while the service uses the internal one", async () => {
  const store = connectObjectStore({
    ...configOf(local.server.endpoint),
    publicEndpoint: `http://localhost:${local.server.port}`,
  });
  await store.write("public", streamOf(pattern(3)), { contentType: "text/plain" });
  const { url } = store.signDownload("public", { fileName: "a", expiresInSeconds: 60 });
  assert.equal(new URL(url).host, `localhost:${local.server.port}`);
  const got = await fetch(url);
  assert.deepEqual(await got.bytes(), pattern(3));
});

Deno.test("a public endpoint with a path keeps that path", () => {
  const store = connectObjectStore({
    ...configOf(local.server.endpoint),
    publicEndpoint: "https://cdn.test/s3/",
  });
  const { url } = store.signDownload("a/b", { fileName: "a", expiresInSeconds: 60 });
  assert.ok(url.startsWith(`https://cdn.test/s3/${BUCKET}/a/b?`), url);
});

Deno.test("virtual-host URLs put the bucket in the host name", () => {
  const config = { ...configOf(local.server.endpoint), publicEndpoint: "https://s3.test", pathStyle: false };
  const { url } = connectObjectStore(config).signDownload("a//b", {
    fileName: "a",
    expiresInSeconds: 60,
  });
  assert.ok(url.startsWith(`https://${BUCKET}.s3.test/a//b?`), url);
});

Deno.test("a list longer than one page is returned completely and in order", async () => {
  const keys = Array.from({ length: 1005 }, (_, i) => `paged/${String(i).padStart(4, "0")}`);
  for (let i = 0; i < keys.length; i += 50) {
    await Promise.all(keys.slice(i, i + 50).map((key) => local.lite.putObject(key, "x")));
  }
  assert.deepEqual((await Array.fromAsync(local.store.list("paged/"))).map(({ key }) => key), keys);
});

Deno.test("keys that no S3 client can address are rejected before anything is sent", async () => {
  for (const key of ["", "a/../b", "./a", "a/..", "\ud800", "x".repeat(1025), "é".repeat(513)]) {
    await assert.rejects(async () => await local.store.read(key), TypeError);
    await assert.rejects(
      async () => await local.store.write(key, streamOf(), { contentType: "a/b" }),
      TypeError,
    );
    assert.throws(() => local.store.signDownload(key, { fileName: "a", expiresInSeconds: 1 }), TypeError);
  }
});

Deno.test("invalid arguments of signing are refused", () => {
  const good = { contentType: "a/b", sizeBytes: 1, expiresInSeconds: 1 };
  const bad = [
    { sizeBytes: -1 },
    { sizeBytes: 1.5 },
    { expiresInSeconds: 0 },
    { expiresInSeconds: 604_801 },
    { contentType: "a/b\r\nx: y" },
    { contentType: "" },
  ];
  for (const part of bad) assert.throws(() => local.store.signUpload("k", { ...good, ...part }), TypeError);
});

Deno.test("invalid configurations are refused, and no value appears in the message", () => {
  const good = configOf(local.server.endpoint);
  const bad = [{ endpoint: "nonsense" }, { publicEndpoint: "ftp://x" }, { bucket: "a" }, { bucket: "a..b" }, {
    accessKey: "",
  }];
  for (const part of bad) {
    assert.throws(() => connectObjectStore({ ...good, ...part }), (e) => {
      assert.ok(e instanceof TypeError);
      return !Object.values(part).some((value) =>
        value !== "" && value.length > 1 && e.message.includes(value)
      );
    });
  }
});
