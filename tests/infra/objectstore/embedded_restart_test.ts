import assert from "node:assert/strict";
import { startEmbeddedObjectStore } from "../../../infra/embedded/objectstore/server.ts";
import { connectObjectStore } from "../../../infra/objectstore/objectstore.ts";
import { atEnd } from "../../support/at_end.ts";
import {
  BUCKET,
  configOf,
  CREDENTIALS,
  filesIn,
  outcome,
  pattern,
  presign,
  startTestStore,
  streamOf,
  textOf,
} from "./support.ts";
import { until } from "../../support/until.ts";

Deno.test("objects survive a restart with their metadata; truncated and incomplete files do not", async () => {
  const first = await startTestStore();
  const keys = ["a", "a/b", "ü/😀", "x".repeat(1000)];
  for (const key of keys) await first.lite.putObject(key, key, { metadata: { "Content-Type": "text/x" } });
  await first.lite.putObject("torn", "will be cut short");
  const uploaded = await first.aws.fetch(first.url("parts", { uploads: "" }), { method: "POST" });
  const uploadId = /<UploadId>(.+)<\/UploadId>/.exec(await uploaded.text())?.[1] ?? "";
  const part = await first.aws.fetch(first.url("parts", { uploadId, partNumber: "1" }), {
    method: "PUT",
    body: "x",
  });
  assert.equal(await outcome(part), "200");
  const before = await Array.fromAsync(first.store.list(""));
  await first.server.stop();
  for (const file of await filesIn(first.dir)) {
    const text = await Deno.readTextFile(file);
    if (text.startsWith("will be cut short")) await Deno.truncate(file, text.length - 3);
  }
  await Deno.writeFile(`${first.dir}/incoming/left-by-a-crash`, pattern(1000));

  const again = await startEmbeddedObjectStore({ dir: first.dir, port: 0, ...CREDENTIALS });
  const store = connectObjectStore(configOf(again.endpoint));
  await using _ = atEnd(async () => {
    await again.stop();
    await Deno.remove(first.dir, { recursive: true });
  });
  await store.ensureBucket();
  assert.deepEqual(await Array.fromAsync(store.list("")), before.filter(({ key }) => key !== "torn"));
  for (const key of keys) assert.equal(await textOf(await store.read(key)), key);
  assert.equal(await store.head("torn"), null);
  assert.deepEqual(await filesIn(`${first.dir}/incoming`), []);
  await store.write("torn", streamOf(pattern(3)), { contentType: "a/b" });
  assert.equal((await store.head("torn"))?.sizeBytes, 3);
});

Deno.test("an object with a missing file causes an internal error, and the log has no key, bucket or path", async () => {
  const { store, server, dir } = await startTestStore();
  const { error } = console;
  const printed: string[] = [];
  console.error = (...words) => void printed.push(words.map(String).join(" "));
  await using _ = atEnd(async () => {
    console.error = error;
    await server.stop();
    await Deno.remove(dir, { recursive: true });
  });
  await store.write("secret-key", streamOf(pattern(3)), { contentType: "a/b" });
  for (const file of await filesIn(`${dir}/buckets`)) await Deno.remove(file);
  await assert.rejects(store.read("secret-key"), /answered 500 InternalError/);
  assert.equal(printed.length, 1);
  assert.match(printed[0] ?? "", /NotFound.*\(a file of the store\)/);
  for (const word of ["secret-key", BUCKET, dir]) assert.ok(!printed[0]?.includes(word), word);
});

Deno.test("a directory serves one store at a time; if the port is taken, the start fails and unlocks the folder", async () => {
  const first = await startTestStore();
  await assert.rejects(startEmbeddedObjectStore({ dir: first.dir, port: 0, ...CREDENTIALS }), /in use/);
  const dir = await Deno.makeTempDir();
  const options = { dir, ...CREDENTIALS };
  await assert.rejects(
    startEmbeddedObjectStore({ ...options, port: first.server.port }),
    Deno.errors.AddrInUse,
  );
  await (await startEmbeddedObjectStore({ ...options, port: 0 })).stop();
  await Deno.remove(dir, { recursive: true });
  await first.stop();
});

Deno.test("stopping ends stalled uploads, whose files it deletes, and downloads that the client does not read", async () => {
  const test = await startTestStore();
  const signed = new URL(await presign(test.url("stalled"), { method: "PUT" }));
  using connection = await Deno.connect({ hostname: signed.hostname, port: Number(signed.port) });
  const head =
    `PUT ${signed.pathname}${signed.search} HTTP/1.1\r\nHost: ${signed.host}\r\nContent-Length: 9000\r\n\r\n`;
  await connection.write(new TextEncoder().encode(`${head}only the beginning`));
  await until(async () => (await filesIn(test.dir)).length > 0);
  await test.store.write("big", streamOf(pattern(8 * 1024 * 1024)), { contentType: "a/b" });
  const reader = (await test.store.read("big")).getReader();
  await reader.read();
  await test.server.stop();
  assert.equal((await filesIn(test.dir)).length, 1, "the whole object");
  await reader.cancel().catch(() => undefined);
  await Deno.remove(test.dir, { recursive: true });
});
