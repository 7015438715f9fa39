import assert from "node:assert/strict";
import { CREDENTIALS, startTestStore } from "./support.ts";

// Names below .localhost need not resolve, so the child process connects through a proxy, which is the store itself.
// The store reads the bucket from the Host header, whatever address the connection used.
const CHILD = `
import { connectObjectStore } from "${import.meta.resolve("../../../infra/objectstore/objectstore.ts")}";
const config = JSON.parse(Deno.args[0]);
const store = connectObjectStore(config);
await store.ensureBucket();
await store.ping();
const written = await store.write("a/ü b", new Blob([new Uint8Array(9_000_000)]).stream(), { contentType: "a/b" });
const copied = await store.copy("a/ü b", "b", { ifEtag: written.etag });
const signed = store.signUpload("c", { contentType: "a/b", sizeBytes: 3, expiresInSeconds: 60 });
const put = await fetch(signed.url, { method: "PUT", headers: signed.requiredHeaders, body: "abc" });
const { url } = store.signDownload("c", { fileName: "c.txt", expiresInSeconds: 60 });
const read = await (await fetch(url)).text();
const keys = (await Array.fromAsync(store.list(""))).map(({ key }) => key);
await store.delete("b");
console.log(JSON.stringify({ size: copied.sizeBytes, put: put.status, read, keys, url, left: await store.head("b") }));
`;

Deno.test("the client works in virtual-host style with a store that reads the bucket from the host name", async () => {
  const test = await startTestStore();
  try {
    const endpoint = `http://localhost:${test.server.port}`;
    const bucket = "virtual-bucket";
    const config = { endpoint, publicEndpoint: endpoint, bucket, pathStyle: false, ...CREDENTIALS };
    const file = `${test.dir}/../${crypto.randomUUID()}.ts`;
    await Deno.writeTextFile(file, CHILD);
    const child = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--no-check",
        "--config",
        new URL(import.meta.resolve("../../../deno.json")).pathname,
        file,
      ]
        .concat(JSON.stringify(config)),
      env: { HTTP_PROXY: test.server.endpoint, NO_PROXY: "" },
    }).output();
    await Deno.remove(file);
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    assert.ok(child.success, text(child.stderr));
    const { url, ...result } = JSON.parse(text(child.stdout));
    assert.deepEqual(result, {
      size: 9_000_000,
      put: 200,
      read: "abc",
      keys: ["a/ü b", "b", "c"],
      left: null,
    });
    assert.equal(new URL(url).host, `${bucket}.localhost:${test.server.port}`);
    const moved = await test.lite.getObject("c", { bucketName: bucket });
    assert.equal(await moved.text(), "abc", "path-style sees the same bucket");
  } finally {
    await test.stop();
  }
});
