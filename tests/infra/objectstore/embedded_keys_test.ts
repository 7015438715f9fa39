import fc from "fast-check";
import assert from "node:assert/strict";
import { BUCKET, outcome, presign, sendRaw, startTestStore } from "./support.ts";

const test = await startTestStore();
Deno.test.afterAll(() => test.stop());

const fits = (key: string) =>
  key.isWellFormed() && key !== "" && new TextEncoder().encode(key).length <= 1024;
const segment = fc.constantFrom(..."a b . .. %2F % + \\ é e\u0301 😀 CON ~ '".split(" "), "", " ");
const anyKey = fc.oneof(
  fc.string({ unit: "binary", minLength: 1, maxLength: 60 }),
  fc.array(segment, { minLength: 1, maxLength: 8 }).map((segments) => segments.join("/")),
  fc.string({ unit: fc.constantFrom("a", "/", "."), minLength: 250, maxLength: 1024 }),
).filter(fits);

/** A presigned URL whose path is exactly the key, also with `..`. Both signers are other libraries. */
async function signKey(method: "GET" | "PUT" | "DELETE", key: string): Promise<string | null> {
  if (!key.includes("?")) return await test.lite.getPresignedUrl(method, key); // aws-lite cuts paths at '?'
  if (key.split("/").some((part) => part === "." || part === "..")) return null; // no library can address such keys
  return await presign(test.url(key), { method });
}

async function send(method: "GET" | "PUT" | "DELETE", key: string, body?: string) {
  const url = await signKey(method, key);
  return url === null
    ? null
    : await sendRaw(url, { method, body, headers: body ? { "content-length": "36" } : {} });
}

Deno.test("every key is a separate object, whatever characters it has", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(anyKey, { minLength: 2, maxLength: 6 }), async (keys) => {
      const stored = new Map<string, string>();
      for (const key of keys) {
        const body = crypto.randomUUID();
        const put = await send("PUT", key, body);
        if (put === null) continue;
        assert.equal(await outcome(put), "200", JSON.stringify(key));
        stored.set(key, body);
      }
      for (const [key, body] of stored) {
        assert.equal((await send("GET", key))?.body, body, JSON.stringify(key));
      }
      for (const key of stored.keys()) {
        const removed = await send("DELETE", key);
        assert.equal(removed?.status, 204);
        const again = await send("GET", key);
        assert.equal(again && await outcome(again), "404 NoSuchKey");
      }
    }),
    { numRuns: 4 },
  );
  const entries = [...Deno.readDirSync(test.dir)].map(({ name }) => name).sort();
  assert.deepEqual(entries, ["buckets", "incoming", "lock"], "nothing else is in the store's directory");
});

Deno.test("a key of 1024 bytes is accepted, a longer one and a path that is not UTF-8 are not", async () => {
  await test.lite.putObject("é".repeat(512), "x");
  await test.lite.deleteObject("é".repeat(512));
  const answer = await test.aws.fetch(test.url("é".repeat(512) + "a"), { method: "PUT", body: "x" });
  assert.equal(await outcome(answer), "400 KeyTooLongError");
  for (const path of ["%ff", "%c3", "%", "a%zz"]) {
    const answer = await sendRaw(`${test.server.endpoint}/${BUCKET}/${path}`);
    assert.equal(await outcome(answer), "400 InvalidURI", path);
  }
});

async function listPage(query: Record<string, string>): Promise<Response> {
  const search = Object.entries({ "list-type": "2", ...query })
    .map((pair) => pair.map(encodeURIComponent).join("=")).join("&");
  return await test.aws.fetch(`${test.server.endpoint}/${BUCKET}?${search}`);
}

async function listAll(query: Record<string, string>): Promise<string[]> {
  const found: string[] = [];
  for (let token: string | undefined, page = 0;; page++) {
    assert.ok(page < 100, "the list does not end");
    const answer = await listPage({ ...query, ...(token ? { "continuation-token": token } : {}) });
    const xml = await answer.text();
    assert.equal(answer.status, 200, xml);
    const keys = [...xml.matchAll(/<Key>(.*?)<\/Key>/g)];
    assert.equal(keys.length, Number(/<KeyCount>(\d+)</.exec(xml)?.[1]));
    found.push(...keys.map(([, key = ""]) => key));
    token = /<NextContinuationToken>(.*?)</.exec(xml)?.[1];
    assert.equal(/<IsTruncated>(.*?)</.exec(xml)?.[1], String(token !== undefined));
    if (token === undefined) return found;
  }
}

Deno.test("pages of any size give the same list as a simple model", async () => {
  const unit = fc.constantFrom("a", "b", "/", "-", "é", "😀");
  const name = fc.string({ unit, minLength: 1, maxLength: 5 });
  const query = fc.record({
    names: fc.uniqueArray(name, { minLength: 1, maxLength: 12 }),
    prefix: fc.constantFrom("", "a", "a/", "/", "b-"),
    size: fc.integer({ min: 1, max: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(query, async ({ names, prefix, size }) => {
      await Promise.all(names.map((key) => test.lite.putObject(key, "x")));
      const expected = names.filter((key) => key.startsWith(prefix))
        .sort((a, b) => Buffer.from(a).compare(Buffer.from(b)));
      assert.deepEqual(await listAll({ prefix, "max-keys": String(size) }), expected);
      await Promise.all(names.map((key) => test.lite.deleteObject(key)));
    }),
    { numRuns: 5 },
  );
});

Deno.test("invalid arguments are refused", async () => {
  const refusals: [query: Record<string, string>, expected: string][] = [
    [{ "max-keys": "-1" }, "400 InvalidArgument"],
    [{ "max-keys": "many" }, "400 InvalidArgument"],
    [{ "continuation-token": "?" }, "400 InvalidArgument"],
    [{ "encoding-type": "url" }, "501 NotImplemented"],
    [{ delimiter: "/" }, "501 NotImplemented"],
    [{ "list-type": "1" }, "501 NotImplemented"],
    [{ "max-keys": "0" }, "200"],
  ];
  for (const [query, expected] of refusals) assert.equal(await outcome(await listPage(query)), expected);
  const absent = await test.aws.fetch(`${test.server.endpoint}/absent-bucket?list-type=2`);
  assert.equal(await outcome(absent), "404 NoSuchBucket");
});
