import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { ObjectStoreConfig } from "../../../infra/objectstore/address.ts";
import {
  connectObjectStore,
  ObjectChanged,
  ObjectNotFound,
  type ObjectStore,
} from "../../../infra/objectstore/objectstore.ts";
import { pattern, streamOf, textOf } from "./support.ts";

/** A server with an empty bucket, and a client of it. */
interface Server {
  name: "embedded" | "Swift";
  config: ObjectStoreConfig;
  store: ObjectStore;
}

type Case = [sentence: string, run: (server: Server) => Promise<void>];
const cases: Case[] = [];
const test = (...each: Case) => void cases.push(each);

/** Defines the tests of the client that hold with every object store. */
export async function describeClient(name: Server["name"], config: ObjectStoreConfig): Promise<void> {
  const store = connectObjectStore(config);
  for (const _ of ["made", "found"]) await store.ensureBucket();
  for (const [sentence, run] of cases) {
    Deno.test({
      name: `${name}: ${sentence}`,
      sanitizeOps: false,
      sanitizeResources: false,
      fn: () => run({ name, config, store }),
    });
  }
}

/** Sends a body to a signed URL. @returns status and ETag */
async function send(url = "", headers: Record<string, string>, body: BodyInit = pattern(2000)) {
  const answer = await fetch(url, { method: "PUT", headers, body });
  await answer.body?.cancel();
  return { status: answer.status, etag: answer.headers.get("etag")?.replaceAll('"', "") ?? "" };
}
const statusOf = async (url: string, init: RequestInit = {}): Promise<number> => {
  const answer = await fetch(url, init);
  await answer.body?.cancel();
  return answer.status;
};
const bytesOf = async (store: ObjectStore, key: string) =>
  await new Response(await store.read(key) as ReadableStream<Uint8Array<ArrayBuffer>>).bytes();
const PLAIN = { contentType: "text/plain" };
const MINUTE = { expiresInSeconds: 60 };

test("a store whose clock is an hour off accepts requests and URLs; returned times use the service's clock", async ({ config }) => {
  for (const ms of [3_600_000, -3_600_000]) {
    let pastMs = 0;
    const service = { now: () => new Date(Date.now() + ms - pastMs) };
    const other = connectObjectStore(config, service);
    const key = `clock/${ms}`;
    await other.write(key, streamOf(pattern(10)), PLAIN);
    /** Within half an hour: the other clock is an hour off. */
    const isNear = (at: Date, expected: number) =>
      assert.ok(Math.abs(at.getTime() - expected) < 1_800_000, at.toISOString());
    for await (const { lastModified } of other.list(key)) isNear(lastModified, service.now().getTime());
    const upload = other.signUpload(key, { ...PLAIN, ...MINUTE, sizeBytes: 3 });
    assert.equal((await send(upload.url, upload.requiredHeaders, "abc")).status, 200);
    const download = () => other.signDownload(key, { fileName: "a", ...MINUTE });
    isNear(download().expiresAt, service.now().getTime() + 60_000);
    const got = await fetch(download().url);
    assert.deepEqual([got.status, await got.text()], [200, "abc"]);
    pastMs = 70_000;
    assert.equal(await statusOf(download().url), 403, "expired");
  }
});

test("a small stream is written, read, looked up and deleted; an empty one too", async ({ store }) => {
  await store.ping();
  const key = "small/ü +%?&#'()*.txt";
  const written = await store.write(key, streamOf(pattern(10), pattern(5)), PLAIN);
  assert.equal(written.sizeBytes, 15);
  assert.match(written.etag, /^[0-9a-f]{32}$/);
  assert.deepEqual(await store.head(key), written);
  assert.deepEqual(await bytesOf(store, key), new Uint8Array([...pattern(10), ...pattern(5)]));
  await store.delete(key);
  assert.equal(await store.head(key), null);
  await store.delete(key);
  for (const range of [undefined, { start: 0 }]) {
    await assert.rejects(store.read(key, { range }), ObjectNotFound);
  }
  assert.equal((await store.write("empty", streamOf(), PLAIN)).sizeBytes, 0);
  for (const range of [undefined, { start: 0, end: 99 }]) {
    assert.equal(await textOf(await store.read("empty", { range })), "");
  }
});

test("a stream longer than one part is written in parts and read back unchanged", async ({ store }) => {
  const chunk = pattern(1024 * 1024, 7);
  for (const extra of [0, 1]) { // exactly two parts, and two parts plus one byte
    const chunks = [...Array(16).fill(chunk), chunk.subarray(0, extra)];
    const written = await store.write("large", streamOf(...chunks), { contentType: "application/x-test" });
    assert.equal(written.sizeBytes, 16 * chunk.length + extra);
    assert.match(written.etag, new RegExp(`^[0-9a-f]{32}-${2 + extra}$`));
    assert.deepEqual(await store.head("large"), written);
    assert.ok(Buffer.concat(await Array.fromAsync(await store.read("large"))).equals(Buffer.concat(chunks)));
  }
});

test("a range includes both its ends, may be open, and is empty past the end", async ({ store }) => {
  await store.write("range", streamOf(new TextEncoder().encode("0123456789")), PLAIN);
  const ranges: [start: number, end: number | undefined, text: string][] = [
    [2, 4, "234"],
    [7, undefined, "789"],
    [0, 0, "0"],
    [8, 100, "89"],
    [10, undefined, ""],
  ];
  for (const [start, end, text] of ranges) {
    const range = end === undefined ? { start } : { start, end };
    assert.equal(await textOf(await store.read("range", { range })), text);
  }
});

test("copy requires the given ETag", async ({ store }) => {
  const [from, to, html] = ["staging/ä b+c", "final", { contentType: "text/html" }];
  const written = await store.write(from, streamOf(pattern(1000)), html);
  const ifEtag = written.etag;
  assert.deepEqual(await store.copy(from, to, { ifEtag }), written);
  assert.deepEqual(await bytesOf(store, to), pattern(1000));
  await store.write(from, streamOf(pattern(1000, 2)), html);
  await assert.rejects(store.copy(from, to, { ifEtag }), ObjectChanged);
  assert.deepEqual(await store.head(to), written);
  await assert.rejects(store.copy("absent", to, { ifEtag }), ObjectNotFound);
});

test("copy does not keep the uploader's content encoding and type", async ({ store }) => {
  const signed = store.signUpload("encoded", { contentType: "text/html", sizeBytes: 4, ...MINUTE });
  const headers = { ...signed.requiredHeaders, "content-encoding": "gzip", "cache-control": "public" };
  assert.equal((await send(signed.url, headers, "raw!")).status, 200);
  assert.equal(await textOf(await store.read("encoded")), "raw!", "the stored bytes, not decoded ones");
  const { etag } = await store.head("encoded") ?? { etag: "" };
  await store.copy("encoded", "decoded", { ifEtag: etag });
  const got = await fetch(store.signDownload("decoded", { fileName: "a.txt", ...MINUTE }).url);
  assert.equal(await got.text(), "raw!");
  for (const name of ["content-encoding", "cache-control"]) assert.equal(got.headers.get(name), null);
});

test("list returns all keys below a prefix", async ({ store }) => {
  const keys = ["list/a", "list/a/b", "list/é", "list/z z+z&<>"];
  for (const key of [...keys, "other"]) await store.write(key, streamOf(pattern(3)), PLAIN);
  const found = await Array.fromAsync(store.list("list/"));
  assert.deepEqual(found.map(({ key }) => key).sort(), keys.toSorted());
  assert.ok(found.every(({ sizeBytes, lastModified }) => sizeBytes === 3 && +lastModified > 0));
});

test("a signed upload accepts exactly the signed size and type", async ({ store }) => {
  const body = pattern(2000);
  const pdf = { "Content-Type": "application/pdf" };
  const signed = store.signUpload("up/load 1", {
    contentType: "application/pdf",
    sizeBytes: 2000,
    ...MINUTE,
  });
  assert.deepEqual(signed.requiredHeaders, { ...pdf, "Content-Length": "2000" });
  const refused: [headers: Record<string, string>, body: Uint8Array<ArrayBuffer>][] = [
    [{ "Content-Type": "text/html" }, body],
    [{}, body],
    [pdf, pattern(2001)],
    [pdf, pattern(1999)],
  ];
  for (const [headers, body] of refused) assert.equal((await send(signed.url, headers, body)).status, 403);
  assert.equal(await store.head("up/load 1"), null);
  assert.equal((await send(signed.url, pdf, body)).status, 200);
  assert.equal((await store.head("up/load 1"))?.sizeBytes, 2000);
});

test("a signed download is saved under its name and never displayed", async ({ store }) => {
  await store.write("down", streamOf(pattern(9)), { contentType: "text/html" });
  for (const key of ["staging/x-_~.y", "ü b+c%25/d'(e)!*", "日本/語", "what?#now"]) {
    const { url, requiredHeaders } = store.signUpload(key, { ...PLAIN, ...MINUTE, sizeBytes: 3 });
    assert.equal((await send(url, requiredHeaders, "abc")).status, 200, key);
    for (const fileName of ["a b+c.txt", "Ü '()*~!.pdf", "日本.csv"]) {
      const signed = store.signDownload(key, { fileName, ...MINUTE }).url;
      assert.ok(!new URL(signed).search.includes("+"), "a space is never written as +");
      assert.equal(await (await fetch(signed)).text(), "abc", key);
    }
  }
  const got = await fetch(store.signDownload("down", { fileName: 'Bericht "Ü" 100%.pdf', ...MINUTE }).url);
  assert.deepEqual(await got.bytes(), pattern(9));
  assert.equal(got.headers.get("content-type"), "application/octet-stream");
  assert.equal(
    got.headers.get("content-disposition"),
    "attachment; filename=\"Bericht ___ 100_.pdf\"; filename*=UTF-8''Bericht%20%22%C3%9C%22%20100%25.pdf",
  );
});

const PART = 5 * 1024 * 1024;
const [LARGE, SMALL] = [pattern(PART), pattern(1000)];

/** An upload of parts with these sizes, and how to send each. */
async function partsOf(store: ObjectStore, key: string, ...sizes: number[]) {
  const uploadId = await store.startParts(key, { contentType: "application/zip" });
  const signed = sizes.map((sizeBytes, i) =>
    store.signPart(key, { uploadId, partNumber: i + 1, sizeBytes, ...MINUTE })
  );
  const put = (n: number, bytes: Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
    send(signed[n - 1]?.url, { ...signed[n - 1]?.requiredHeaders, ...headers }, bytes);
  return { uploadId, signed, put };
}

test("signed parts accept exactly their size and are joined in their order", async ({ name, store }) => {
  const key = "parts/joined";
  const { uploadId, signed, put } = await partsOf(store, key, PART, 1000);
  assert.deepEqual(signed[1]?.requiredHeaders, { "Content-Length": "1000" });
  const [one, two] = [LARGE, pattern(1000, 2)];
  for (const length of [1001, 999]) assert.equal((await put(2, pattern(length))).status, 403);
  const second = await put(2, two);
  await put(1, pattern(PART, 3));
  const first = await put(1, one); // a part sent again replaces the earlier one
  assert.deepEqual([first.status, second.status], [200, 200]);
  assert.deepEqual(await store.listParts(key, uploadId), [
    { partNumber: 1, sizeBytes: PART, etag: first.etag },
    { partNumber: 2, sizeBytes: 1000, etag: second.etag },
  ]);
  assert.equal(await store.head(key), null);
  const etags = [first.etag, second.etag];
  assert.equal(await store.joinParts(key, { uploadId, etags }), "joined");
  const joined = await store.head(key);
  assert.equal(joined?.sizeBytes, PART + 1000);
  const whole = Buffer.concat([one, two]);
  assert.ok(whole.equals(await bytesOf(store, key)));
  // The ETag of a joined object has another format. A copy accepts it too.
  const copied = await store.copy(key, "parts/copied", { ifEtag: joined?.etag ?? "" });
  assert.equal(copied.sizeBytes, PART + 1000);
  for (const ifEtag of [first.etag, joined?.etag.replace(/.-/, "x-") ?? ""]) {
    await assert.rejects(store.copy(key, "parts/other", { ifEtag }), ObjectChanged);
  }
  assert.equal(await store.head("parts/other"), null);

  // After the join, no part URL changes the copy. (Swift still accepts a part, but this damages only the joined object.)
  assert.ok(["gone", "joined"].includes(await store.joinParts(key, { uploadId, etags })));
  assert.deepEqual(await store.head(key), joined);
  assert.equal((await put(2, pattern(1000, 9))).status, name === "Swift" ? 200 : 404);
  assert.ok(whole.equals(await bytesOf(store, "parts/copied")));
  // A joined object is deleted like any object, together with its parts.
  await store.abortParts(key, uploadId);
  await store.delete(key);
  assert.equal(await store.head(key), null);
  assert.deepEqual(await store.listParts(key, uploadId), []);
  assert.equal((await put(2, two)).status, 404);
});

test("missing or different parts are not joined, and the upload stays open", async ({ store }) => {
  const key = "parts/unlike";
  const { uploadId, put } = await partsOf(store, key, PART, 1000);
  const second = await put(2, SMALL);
  const join = (...etags: string[]) => store.joinParts(key, { uploadId, etags });
  const absent = "0".repeat(32);
  assert.equal(await join(absent, second.etag), "mismatch");
  const first = await put(1, LARGE);
  const unlike = [[absent, second.etag], [first.etag, absent], [first.etag, second.etag, absent], [
    "</ETag>",
    second.etag,
  ]];
  for (const etags of unlike) assert.equal(await join(...etags), "mismatch");
  assert.equal(await store.head(key), null);
  assert.equal(await join(first.etag, second.etag), "joined");
  assert.equal((await store.head(key))?.sizeBytes, PART + 1000);
});

test("simultaneous joins create one object; an aborted upload accepts no part and cannot be joined", async ({ store }) => {
  const { uploadId, put } = await partsOf(store, "parts/race", 1000);
  const etags = [(await put(1, SMALL)).etag];
  const join = () => store.joinParts("parts/race", { uploadId, etags });
  const outcomes = await Promise.all([1, 2, 3, 4, 5].map(join));
  assert.ok(outcomes.includes("joined") && !outcomes.includes("mismatch"), outcomes.join());
  assert.equal((await store.head("parts/race"))?.sizeBytes, 1000);

  const ended = await partsOf(store, "parts/ended", 1000);
  const given = { uploadId: ended.uploadId, etags: [(await ended.put(1, SMALL)).etag] };
  for (const _ of ["once", "twice"]) await store.abortParts("parts/ended", ended.uploadId);
  assert.equal((await ended.put(1, SMALL)).status, 404);
  assert.equal(await store.joinParts("parts/ended", given), "gone");
  assert.equal(await store.head("parts/ended"), null);
});

test("a signed URL is valid for one object, one part and its size only", async ({ config, store }) => {
  await store.write("victim", streamOf(pattern(2000)), PLAIN);
  const { uploadId, signed, put } = await partsOf(store, "parts/tricks", PART, 1000);
  const { url, requiredHeaders } = store.signUpload("tricked", { ...PLAIN, sizeBytes: 2000, ...MINUTE });
  const source = { "x-amz-copy-source": `${config.bucket}/victim` };
  const range = { "x-amz-copy-source-range": "bytes=0-999" };
  const part = signed[1]?.url ?? "";
  const small = { "Content-Length": "1000" };
  const tricks: Record<string, Promise<{ status: number }>> = {
    "a copy": send(url, { ...requiredHeaders, ...source }),
    "a copy with other bytes": send(url, { ...requiredHeaders, ...source }, new Uint8Array(2000)),
    "a copied part": put(2, SMALL, source),
    "a copied range": put(2, SMALL, { ...source, ...range }),
    "a part of the signed object": send(`${url}&uploadId=${uploadId}&partNumber=1`, requiredHeaders),
    "a multipart upload of the signed object": send(`${url}&uploads=`, requiredHeaders),
    "another part": send(part.replace("partNumber=2", "partNumber=3"), small, SMALL),
    "another upload": send(part.replace(/uploadId=[^&]+/, "uploadId=x"), small, SMALL),
    "another key": send(part.replace("tricks", "victim"), small, SMALL),
    "no part": send(part.replace(/&?partNumber=2|&?uploadId=[^&]+/g, ""), small, SMALL),
  };
  for (const [what, trick] of Object.entries(tricks)) {
    const { status } = await trick;
    assert.ok(status >= 400, `${what}: ${status}`);
  }
  for (const method of ["GET", "DELETE", "POST"]) assert.ok(await statusOf(part, { method }) >= 400, method);
  assert.equal(await store.head("tricked"), null);
  await send(url, { ...requiredHeaders, "content-range": "bytes 0-9/2000", range: "bytes=0-9" });
  const size = (await store.head("tricked"))?.sizeBytes;
  assert.ok(size === undefined || size === 2000, "a range of the signed object");
  assert.deepEqual(await store.listParts("parts/tricks", uploadId), []);
  await store.abortParts("parts/tricks", uploadId);
});
