import assert from "node:assert/strict";
import { ObjectChanged, type ObjectStore } from "../../../infra/objectstore/objectstore.ts";
import { onEachServer } from "./each_server.ts";
import { pattern, streamOf } from "./support.ts";

const test = onEachServer();

const PART = 5 * 1024 * 1024;

/** An upload of two parts to `key`, and how to send each. */
async function twoParts(store: ObjectStore, key: string) {
  const uploadId = await store.startParts(key, { contentType: "application/zip" });
  const signed = [PART, 1000].map((sizeBytes, i) =>
    store.signPart(key, { uploadId, partNumber: i + 1, sizeBytes, expiresInSeconds: 60 })
  );
  const send = async (n: 1 | 2, bytes: Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) => {
    const part = signed[n - 1];
    const body = bytes;
    const answer = await fetch(part?.url ?? "", {
      method: "PUT",
      headers: { ...part?.requiredHeaders, ...headers },
      body,
    });
    await answer.body?.cancel();
    return { status: answer.status, etag: answer.headers.get("etag")?.replaceAll('"', "") ?? "" };
  };
  return { uploadId, signed, send };
}

test("signed parts accept exactly their size and are joined in their order", async ({ name, store }) => {
  const { uploadId, signed, send } = await twoParts(store, "parts/joined");
  assert.deepEqual(signed[1]?.requiredHeaders, { "Content-Length": "1000" });
  const [one, two] = [pattern(PART, 1), pattern(1000, 2)];
  assert.equal((await send(2, pattern(1001))).status, 403);
  assert.equal((await send(2, pattern(999))).status, 403);
  const second = await send(2, two);
  await send(1, pattern(PART, 3));
  const first = await send(1, one); // a part sent again replaces the earlier one
  assert.deepEqual([first.status, second.status], [200, 200]);
  assert.deepEqual(await store.listParts("parts/joined", uploadId), [
    { partNumber: 1, sizeBytes: PART, etag: first.etag },
    { partNumber: 2, sizeBytes: 1000, etag: second.etag },
  ]);
  assert.equal(await store.head("parts/joined"), null);
  const etags = [first.etag, second.etag];
  assert.equal(await store.joinParts("parts/joined", { uploadId, etags }), "joined");
  const joined = await store.head("parts/joined");
  assert.equal(joined?.sizeBytes, PART + 1000);
  assert.deepEqual(
    await new Response(await read(store, "parts/joined")).bytes(),
    new Uint8Array([...one, ...two]),
  );
  // The ETag of a joined object has another format. A copy accepts it too.
  const copied = await store.copy("parts/joined", "parts/copied", { ifEtag: joined?.etag ?? "" });
  assert.equal(copied.sizeBytes, PART + 1000);
  const others = [first.etag, joined?.etag.replace(/.-/, "x-") ?? ""];
  for (const ifEtag of others) {
    await assert.rejects(store.copy("parts/joined", "parts/other", { ifEtag }), ObjectChanged);
  }
  assert.equal(await store.head("parts/other"), null);

  // After the join, no part URL changes the copy. (Swift still accepts a part, but this damages only the joined object.)
  assert.ok(["gone", "joined"].includes(await store.joinParts("parts/joined", { uploadId, etags })));
  assert.deepEqual(await store.head("parts/joined"), joined);
  assert.equal((await send(2, pattern(1000, 9))).status, name === "Swift" ? 200 : 404);
  assert.deepEqual(
    await new Response(await read(store, "parts/copied")).bytes(),
    new Uint8Array([...one, ...two]),
  );
  // A joined object is deleted like any object, together with its parts.
  await store.abortParts("parts/joined", uploadId);
  await store.delete("parts/joined");
  assert.equal(await store.head("parts/joined"), null);
  assert.deepEqual(await store.listParts("parts/joined", uploadId), []);
  assert.equal((await send(2, two)).status, 404);
});

test("missing, different or too small parts are not joined, and the upload stays open", async ({ store }) => {
  const { uploadId, send } = await twoParts(store, "parts/unlike");
  const second = await send(2, pattern(1000));
  const join = (...etags: string[]) => store.joinParts("parts/unlike", { uploadId, etags });
  const absent = "0".repeat(32);
  assert.equal(await join(absent, second.etag), "mismatch");
  const first = await send(1, pattern(PART));
  assert.equal(await join(absent, second.etag), "mismatch");
  assert.equal(await join(first.etag, absent), "mismatch");
  assert.equal(await join(first.etag, second.etag, absent), "mismatch");
  assert.equal(await join("</ETag>", second.etag), "mismatch");
  assert.equal(await store.head("parts/unlike"), null);
  assert.equal(await join(first.etag, second.etag), "joined");
  assert.equal((await store.head("parts/unlike"))?.sizeBytes, PART + 1000);
});

test("five simultaneous joins of the same parts create one object, and none reports a mismatch", async ({ store }) => {
  const { uploadId, send } = await twoParts(store, "parts/race");
  const etags = [(await send(1, pattern(PART))).etag, (await send(2, pattern(1000))).etag];
  const outcomes = await Promise.all(
    Array.from({ length: 5 }, () => store.joinParts("parts/race", { uploadId, etags })),
  );
  assert.ok(outcomes.includes("joined") && !outcomes.includes("mismatch"), outcomes.join());
  assert.equal((await store.head("parts/race"))?.sizeBytes, PART + 1000);
});

test("an aborted upload accepts no part and cannot be joined; aborting again is allowed", async ({ store }) => {
  const { uploadId, send } = await twoParts(store, "parts/ended");
  const etags = [(await send(1, pattern(PART))).etag, (await send(2, pattern(1000))).etag];
  await store.abortParts("parts/ended", uploadId);
  await store.abortParts("parts/ended", uploadId);
  assert.equal((await send(1, pattern(PART))).status, 404);
  assert.equal(await store.joinParts("parts/ended", { uploadId, etags }), "gone");
  assert.equal(await store.head("parts/ended"), null);
});

test("a signed URL is valid for one object, one part and its size only", async ({ config, store }) => {
  await store.write("victim", streamOf(pattern(2000)), { contentType: "text/plain" });
  const { uploadId, signed, send } = await twoParts(store, "parts/tricks");
  const whole = store.signUpload("tricked", {
    contentType: "text/plain",
    sizeBytes: 2000,
    expiresInSeconds: 60,
  });
  const put = async (url: string, headers: Record<string, string>, bytes = pattern(2000)) => {
    const answer = await fetch(url, { method: "PUT", headers, body: bytes });
    await answer.body?.cancel();
    return answer.status;
  };
  const source = { "x-amz-copy-source": `${config.bucket}/victim` };
  const range = { "x-amz-copy-source-range": "bytes=0-999" };
  const refused = (status: number, what: string) => assert.ok(status >= 400, `${what}: ${status}`);
  refused(await put(whole.url, { ...whole.requiredHeaders, ...source }), "a copy");
  refused(await put(whole.url, { ...whole.requiredHeaders, ...source }, new Uint8Array(2000)), "a copy");
  refused((await send(2, pattern(1000), source)).status, "a copied part");
  refused((await send(2, pattern(1000), { ...source, ...range })).status, "a copied range");
  refused(
    await put(`${whole.url}&uploadId=${uploadId}&partNumber=1`, whole.requiredHeaders),
    "a part of the signed object",
  );
  refused(
    await put(`${whole.url}&uploads=`, whole.requiredHeaders),
    "a multipart upload of the signed object",
  );
  const second = signed[1]?.url ?? "";
  const small = { "Content-Length": "1000" };
  refused(await put(second.replace("partNumber=2", "partNumber=3"), small, pattern(1000)), "another part");
  refused(
    await put(second.replace(/uploadId=[^&]+/, "uploadId=x"), small, pattern(1000)),
    "another upload",
  );
  refused(await put(second.replace("tricks", "victim"), small, pattern(1000)), "another key");
  refused(
    await put(second.replace(/&?partNumber=2|&?uploadId=[^&]+/g, ""), small, pattern(1000)),
    "no part",
  );
  for (const method of ["GET", "DELETE", "POST"]) {
    const answer = await fetch(second, { method });
    await answer.body?.cancel();
    refused(answer.status, method);
  }
  assert.equal(await store.head("tricked"), null);
  await put(whole.url, { ...whole.requiredHeaders, "content-range": "bytes 0-9/2000", range: "bytes=0-9" });
  assert.ok(
    [undefined, 2000].includes((await store.head("tricked"))?.sizeBytes),
    "a range of the signed object",
  );
  assert.deepEqual(await store.listParts("parts/tricks", uploadId), []);
  await store.abortParts("parts/tricks", uploadId);
});

async function read(store: ObjectStore, key: string) {
  return await store.read(key) as ReadableStream<Uint8Array<ArrayBuffer>>;
}
