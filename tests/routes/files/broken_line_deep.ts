import assert from "node:assert/strict";
import { openAsBlob } from "node:fs";
import { join } from "node:path";
import { startEmbeddedObjectStore } from "../../../infra/embedded/objectstore/server.ts";
import { upload } from "../../../scripts/client/helpers.ts";
import { Transport } from "../../../scripts/client/transport.ts";
import { atEnd } from "../../support/at_end.ts";
import { accepted } from "../../support/outcomes.ts";
import { setup } from "../../support/setup.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { ALL } from "./uploading.ts";

const MIB = 1024 * 1024;
const SIZE = 512 * MIB;
/** The line breaks after each so many bytes that the client has sent. */
const BREAKS_EVERY = 60 * MIB;

Deno.test("a large file arrives over a line that breaks again and again", async () => {
  const folder = await Deno.makeTempDir({ prefix: "steward-broken-line-" });
  await using _folder = atEnd(() => Deno.remove(folder, { recursive: true }));
  const keys = { accessKey: "line", secretKey: "line-secret" };
  const store = await startEmbeddedObjectStore({
    dir: join(folder, "objects"),
    port: 0,
    region: "us-east-1",
    ...keys,
  });
  await using _store = atEnd(() => store.stop());
  const { hostname, port } = new URL(store.endpoint);
  await using line = await TcpProxy.start({ hostname, port: Number(port) });
  await using t = await setup({
    S3_ENDPOINT: store.endpoint,
    S3_PUBLIC_ENDPOINT: `http://127.0.0.1:${line.port}`,
    S3_ACCESS_KEY: keys.accessKey,
    S3_SECRET_KEY: keys.secretKey,
    FILE_PROFILES: JSON.stringify({ archive: { maxBytes: 4096 * MIB } }),
  });
  const actor = await t.actor({ permissions: ALL });
  const path = join(folder, "content");
  await Deno.writeFile(path, ReadableStream.from(zeros(SIZE)));
  let breaks = 0;
  const file = await upload<{ id: string }>(new Transport({ baseUrl: t.url, token: actor.token ?? "" }), {
    profile: "archive",
    fileName: "large.zip",
    contentType: "application/zip",
    content: await openAsBlob(path),
    parts: true,
    onProgress(sent) {
      if (sent < (breaks + 1) * BREAKS_EVERY || sent === SIZE) return;
      breaks++;
      setTimeout(() => line.cut(), 1); // in the middle of the next part
    },
  });
  assert.ok(breaks >= 8, `the line broke ${breaks} times`);
  assert.equal((await accepted(actor.get(`/api/v1/files/${file.id}`))).sizeBytes, SIZE);
});

async function* zeros(bytes: number): AsyncGenerator<Uint8Array> {
  const block = new Uint8Array(MIB);
  for (let sent = 0; sent < bytes; sent += MIB) yield block;
}
