import fc from "fast-check";
import assert from "node:assert/strict";
import { compareUtf8 } from "../../../infra/embedded/objectstore/key_index.ts";
import { BUCKET, outcome, presign, sendRaw, startTestStore, type TestStore } from "./support.ts";

let test: TestStore;
Deno.test.beforeAll(async () => void (test = await startTestStore()));
Deno.test.afterAll(() => test.stop());

const fits = (key: string) =>
  key.isWellFormed() && key !== "" && new TextEncoder().encode(key).length <= 1024;
const segment = fc.constantFrom(
  "a",
  "b",
  "",
  ".",
  "..",
  "%2F",
  "%",
  "+",
  " ",
  "\\",
  "é",
  "e\u0301",
  "😀",
  "CON",
  "~",
  "'",
);
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
    { numRuns: 60 },
  );
  for await (const entry of Deno.readDir(test.dir)) {
    assert.ok(
      ["buckets", "incoming", "lock"].includes(entry.name),
      `found ${entry.name} in the store's directory`,
    );
  }
});

Deno.test("a key that is a prefix of another key is a separate object", async () => {
  for (const key of ["a", "a/", "a/b", "a//b", "a/b/c"]) await test.lite.putObject(key, key);
  for (const key of ["a", "a/", "a/b", "a//b", "a/b/c"]) {
    assert.equal(await (await test.lite.getObject(key)).text(), key);
  }
  assert.deepEqual((await Array.fromAsync(test.store.list("a"))).map(({ key }) => key), [
    "a",
    "a/",
    "a//b",
    "a/b",
    "a/b/c",
  ]);
});

Deno.test("a key of 1024 bytes is accepted, a longer one is rejected", async () => {
  await test.lite.putObject("é".repeat(512), "x");
  const answer = await test.aws.fetch(test.url("é".repeat(512) + "a"), { method: "PUT", body: "x" });
  assert.equal(await outcome(answer), "400 KeyTooLongError");
});

Deno.test("a path that is not UTF-8 is rejected", async () => {
  for (const path of ["%ff", "%c3", "%", "a%zz"]) {
    const answer = await sendRaw(`${test.server.endpoint}/${BUCKET}/${path}`);
    assert.equal(await outcome(answer), "400 InvalidURI", path);
  }
});

Deno.test("keys are ordered by their UTF-8 bytes", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (a, b) => {
    assert.equal(Math.sign(compareUtf8(a, b)), Math.sign(Buffer.from(a).compare(Buffer.from(b))));
  }));
});
