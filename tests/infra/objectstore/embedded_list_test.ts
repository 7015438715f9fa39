import fc from "fast-check";
import assert from "node:assert/strict";
import { BUCKET, outcome, startTestStore, type TestStore } from "./support.ts";

let test: TestStore;
Deno.test.beforeAll(async () => void (test = await startTestStore()));
Deno.test.afterAll(() => test.stop());

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
    const keys = [...xml.matchAll(/<Key>(.*?)<\/Key>|<CommonPrefixes><Prefix>(.*?)<\/Prefix>/g)];
    assert.equal(keys.length, Number(/<KeyCount>(\d+)</.exec(xml)?.[1]));
    found.push(...keys.map(([, key, prefix]) => decodeURIComponent(key ?? `${prefix}`)));
    token = /<NextContinuationToken>(.*?)</.exec(xml)?.[1];
    assert.equal(/<IsTruncated>(.*?)</.exec(xml)?.[1], String(token !== undefined));
    if (token === undefined) return found;
  }
}

Deno.test("pages of any size give the same list as a simple model", async () => {
  const name = fc.string({
    unit: fc.constantFrom("a", "b", "/", "-", "é", "😀"),
    minLength: 1,
    maxLength: 5,
  });
  const query = fc.record({
    names: fc.uniqueArray(name, { minLength: 1, maxLength: 12 }),
    prefix: fc.constantFrom("", "a", "a/", "/", "b-"),
    delimiter: fc.constantFrom("", "/", "-"),
    size: fc.integer({ min: 1, max: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(query, async ({ names, prefix, delimiter, size }) => {
      await Promise.all(names.map((key) => test.lite.putObject(key, "x")));
      const expected = new Set(
        names.filter((key) => key.startsWith(prefix)).sort((a, b) => Buffer.from(a).compare(Buffer.from(b)))
          .map((key) => {
            const end = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length);
            return end < 0 ? key : key.slice(0, end + delimiter.length);
          }),
      );
      const listed = await listAll({ prefix, delimiter, "max-keys": String(size), "encoding-type": "url" });
      assert.deepEqual(listed, [...expected]);
      await Promise.all(names.map((key) => test.lite.deleteObject(key)));
    }),
    { numRuns: 60 },
  );
});

Deno.test("start-after excludes the keys up to it", async () => {
  for (const key of ["s1", "s2", "s3"]) await test.lite.putObject(key, "x");
  assert.deepEqual(await listAll({ prefix: "s", "start-after": "s1" }), ["s2", "s3"]);
  assert.deepEqual(await listAll({ prefix: "s", "start-after": "a" }), ["s1", "s2", "s3"]);
  assert.deepEqual(await listAll({ prefix: "s", "start-after": "t" }), []);
});

Deno.test("an entry has size, ETag and time, and markup in keys is escaped", async () => {
  await test.lite.putObject("x<&>\u0001", "hello");
  const xml = await (await listPage({ prefix: "x" })).text();
  assert.match(xml, /<Contents><Key>x&lt;&amp;&gt;&#1;<\/Key><LastModified>2\d{3}-[^<]*Z<\/LastModified>/);
  assert.match(xml, /<ETag>"5d41402abc4b2a76b9719d911017c592"<\/ETag><Size>5<\/Size>/);
});

Deno.test("invalid arguments are refused", async () => {
  const page = async (query: Record<string, string>) => await outcome(await listPage(query));
  assert.equal(await page({ "max-keys": "-1" }), "400 InvalidArgument");
  assert.equal(await page({ "max-keys": "many" }), "400 InvalidArgument");
  assert.equal(await page({ "continuation-token": "?" }), "400 InvalidArgument");
  assert.equal(await page({ "encoding-type": "xml" }), "400 InvalidArgument");
  assert.equal(await page({ "list-type": "1" }), "501 NotImplemented");
  assert.equal(await page({ "max-keys": "0" }), "200");
  const absent = await test.aws.fetch(`${test.server.endpoint}/absent-bucket?list-type=2`);
  assert.equal(await outcome(absent), "404 NoSuchBucket");
});
