import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientRequest, request } from "node:http";
import { until } from "../../support/until.ts";
import { filesIn, outcome, pattern, startTestStore } from "./support.ts";

const test = await startTestStore();
Deno.test.afterAll(() => test.stop());

const MIB = 1024 * 1024;

const call = (method: string, key: string, query: Record<string, string>, init: RequestInit = {}) =>
  test.aws.fetch(test.url(key, query), { method, ...init });

async function start(key: string): Promise<string> {
  const answer = await call("POST", key, { uploads: "" });
  return /<UploadId>(.+)<\/UploadId>/.exec(await answer.text())?.[1] ?? "";
}

async function putPart(key: string, uploadId: string, partNumber: number, body: Uint8Array<ArrayBuffer>) {
  const answer = await call("PUT", key, { uploadId, partNumber: String(partNumber) }, { body });
  assert.equal(answer.status, 200, await answer.text());
  return answer.headers.get("etag") ?? "";
}

async function complete(key: string, uploadId: string, parts: [number, string][]) {
  const xml = parts.map(([n, etag]) => `<Part><PartNumber>${n}</PartNumber><ETag>${etag}</ETag></Part>`);
  const body = `<CompleteMultipartUpload>${xml.join("")}</CompleteMultipartUpload>`;
  return await call("POST", key, { uploadId }, { body });
}

const noUploadLeft = async () => (await filesIn(`${test.dir}/incoming`)).length === 0;
async function isStored(key: string, ...parts: Uint8Array[]): Promise<void> {
  const stored = await (await test.lite.getObject(key)).bytes();
  assert.equal(Buffer.compare(stored, Buffer.concat(parts)), 0);
  assert.ok(await noUploadLeft());
}

Deno.test("an invalid completion is refused, and the upload stays open", async () => {
  const uploadId = await start("refused");
  const small = await putPart("refused", uploadId, 1, pattern(10));
  const large = await putPart("refused", uploadId, 2, pattern(5 * MIB));
  const cases: [[number, string][], string][] = [
    [[[1, small], [2, large]], "400 EntityTooSmall"],
    [[[2, large], [1, small]], "400 InvalidPartOrder"],
    [[[3, small]], "400 InvalidPart"],
    [[[10_001, small]], "400 MalformedXML"],
    [[], "400 MalformedXML"],
  ];
  for (const [parts, expected] of cases) {
    assert.equal(await outcome(await complete("refused", uploadId, parts)), expected);
  }
  assert.equal(await outcome(await complete("refused", uploadId, [[2, large]])), "200");
  for (const partNumber of ["0", "10001", "1.5", "", "x"]) {
    const answer = await call("PUT", "refused", { uploadId, partNumber }, { body: "x" });
    assert.equal(await outcome(answer), "400 InvalidArgument");
  }
  assert.ok(await noUploadLeft());
});

/** Sends the first MiB of a part of 5 MiB; resolves when the store has written it at its place. */
async function beginPart(key: string, uploadId: string, partNumber: number): Promise<ClientRequest> {
  const sizeBytes = 5 * MIB;
  const part = { uploadId, partNumber, sizeBytes, expiresInSeconds: 60 };
  const { url, requiredHeaders } = test.store.signPart(key, part);
  const sending = request(url, { method: "PUT", headers: requiredHeaders, agent: false });
  sending.on("error", () => {}); // a part that breaks off
  sending.write(new Uint8Array(MIB));
  await until(() => inodeOf("incoming", (partNumber - 1) * sizeBytes + MIB));
  return sending;
}

/** Number of the file of an object or part with this size; a copy has another number. */
async function inodeOf(folder: string, minBytes: number): Promise<number | null> {
  for (const path of await filesIn(`${test.dir}/${folder}`)) {
    const { ino, size } = await Deno.stat(path);
    if (size >= minBytes) return ino;
  }
  return null;
}

Deno.test("parts of equal size become the object without a copy, in whatever order they arrive", async () => {
  const [one, two, three] = [pattern(6 * MIB, 1), pattern(6 * MIB, 2), pattern(MIB, 3)];
  const uploadId = await start("in-place");
  const etagTwo = await putPart("in-place", uploadId, 2, two);
  const etagThree = await putPart("in-place", uploadId, 3, three);
  const etagOne = await putPart("in-place", uploadId, 1, one);
  const parts: [number, string][] = [[1, etagOne], [2, etagTwo], [3, etagThree]];
  const received = await inodeOf("incoming", 13 * MIB);
  assert.equal(await outcome(await complete("in-place", uploadId, parts)), "200");
  assert.equal(await inodeOf("buckets", 13 * MIB), received);
  await isStored("in-place", one, two, three);
  await test.store.delete("in-place");
});

Deno.test("parts that were replaced, are larger than the first or are not listed do not change the object", async () => {
  const [one, two, again] = [pattern(5 * MIB, 1), pattern(6 * MIB, 2), pattern(5 * MIB, 4)];
  const uploadId = await start("mixed");
  await putPart("mixed", uploadId, 1, one);
  const etagTwo = await putPart("mixed", uploadId, 2, two);
  const etagOne = await putPart("mixed", uploadId, 1, again);
  await putPart("mixed", uploadId, 3, pattern(100, 5));
  assert.equal(await outcome(await complete("mixed", uploadId, [[1, etagOne], [2, etagTwo]])), "200");
  await isStored("mixed", again, two);
});

Deno.test("a part that breaks off can be sent again; one that still arrives at the completion is not in the object", async () => {
  const uploadId = await start("late");
  const one = pattern(5 * MIB, 1);
  const etagOne = await putPart("late", uploadId, 1, one);
  (await beginPart("late", uploadId, 2)).destroy();
  const etagTwo = await putPart("late", uploadId, 2, pattern(5 * MIB, 2));
  const late = await beginPart("late", uploadId, 3);
  const parts: [number, string][] = [[1, etagOne], [2, etagTwo]];
  assert.equal(await outcome(await complete("late", uploadId, parts)), "200");
  const answered = once(late, "response");
  late.end(new Uint8Array(4 * MIB));
  assert.equal((await answered)[0].statusCode, 404);
  await isStored("late", one, pattern(5 * MIB, 2));
});

Deno.test("an upload belongs to its key, and an aborted one is gone", async () => {
  const uploadId = await start("mine");
  const put = async (key: string, partNumber: string) =>
    await outcome(await call("PUT", key, { uploadId, partNumber }, { body: "x" }));
  assert.equal(await put("other", "1"), "404 NoSuchUpload");
  assert.equal(await put("mine", "10000"), "200");
  assert.equal((await call("DELETE", "mine", { uploadId })).status, 204);
  assert.ok(await noUploadLeft());
  for (const method of ["DELETE", "GET"]) {
    assert.equal(await outcome(await call(method, "mine", { uploadId })), "404 NoSuchUpload");
  }
});
