import assert from "node:assert/strict";
import { connectObjectStore } from "../../../infra/objectstore/objectstore.ts";
import { describeClient } from "./client_cases.ts";
import { BUCKET, configOf, pattern, sendRaw, startTestStore, streamOf } from "./support.ts";

const local = await startTestStore();
Deno.test.afterAll(() => local.stop());
await describeClient("embedded", configOf(local.server.endpoint));

const config = configOf(local.server.endpoint);
const MINUTE = { expiresInSeconds: 60 };
const downloadUrl = (change: Partial<typeof config>, key: string) =>
  connectObjectStore({ ...config, ...change }).signDownload(key, { fileName: "a", ...MINUTE }).url;

Deno.test("URLs are signed for the public endpoint while the service uses the internal one", async () => {
  const publicEndpoint = `http://localhost:${local.server.port}`;
  const store = connectObjectStore({ ...config, publicEndpoint });
  await store.write("public", streamOf(pattern(3)), { contentType: "text/plain" });
  const url = downloadUrl({ publicEndpoint }, "public");
  assert.equal(new URL(url).origin, publicEndpoint);
  assert.deepEqual(await (await fetch(url)).bytes(), pattern(3));
});

Deno.test("a public endpoint keeps its path; virtual-host URLs put the bucket in the host name", () => {
  const path = downloadUrl({ publicEndpoint: "https://cdn.test/s3/" }, "a/b");
  assert.ok(path.startsWith(`https://cdn.test/s3/${BUCKET}/a/b?`), path);
  const host = downloadUrl({ publicEndpoint: "https://s3.test", pathStyle: false }, "a//b");
  assert.ok(host.startsWith(`https://${BUCKET}.s3.test/a//b?`), host);
});

Deno.test("the embedded store reads the bucket from the host name", async () => {
  const publicEndpoint = `http://localhost:${local.server.port}`;
  await local.lite.putObject("virtual", "abc");
  const url = new URL(downloadUrl({ publicEndpoint, pathStyle: false }, "virtual"));
  assert.equal(url.host, `${BUCKET}.localhost:${local.server.port}`);
  const answer = await sendRaw(local.server.endpoint + url.pathname + url.search, {
    headers: { host: url.host },
  });
  assert.deepEqual([answer.status, answer.body], [200, "abc"]);
});

Deno.test("keys that no S3 client can address are rejected before anything is sent", async () => {
  for (const key of ["", "a/../b", "./a", "a/..", "\ud800", "x".repeat(1025), "é".repeat(513)]) {
    await assert.rejects(async () => await local.store.read(key), TypeError);
    const write = async () => await local.store.write(key, streamOf(), { contentType: "a/b" });
    await assert.rejects(write, TypeError);
    assert.throws(() => downloadUrl({}, key), TypeError);
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
  const bad = { endpoint: ["nonsense"], publicEndpoint: ["ftp://x"], bucket: ["a", "a..b"], accessKey: [""] };
  for (const [name, values] of Object.entries(bad)) {
    for (const value of values) {
      const connect = () => connectObjectStore({ ...config, [name]: value });
      assert.throws(
        connect,
        (e) => e instanceof TypeError && (value.length < 2 || !e.message.includes(value)),
      );
    }
  }
});
