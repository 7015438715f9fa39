import { pattern, startTestStore } from "./support.ts";

// memory_test.ts runs this file in its own process, so that no other code uses memory. It prints, in MiB, the size of the
// object and how much the process grew above its idle size while store and client transferred the object.
const MIB = 1024 * 1024;
const OBJECT_MIB = 200;

const test = await startTestStore();
const chunk = pattern(MIB);
let peak = 0;
const samplePeak = () => peak = Math.max(peak, Deno.memoryUsage().rss);

function bytes(count: number): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      samplePeak();
      if (sent++ < count) controller.enqueue(chunk.slice());
      else controller.close();
    },
  });
}

async function transfer(count: number): Promise<number> {
  const written = await test.store.write("large", bytes(count), { contentType: "a/b" });
  await test.store.copy("large", "copy", { ifEtag: written.etag });
  let received = 0;
  for await (const part of await test.store.read("copy")) {
    received += part.length;
    samplePeak();
  }
  return received / MIB;
}

const PART_MIB = 10;
const part = pattern(PART_MIB * MIB);

/** Uploads this many MiB by signed part URLs, as a browser does, and joins the parts. */
async function transferParts(count: number): Promise<number> {
  const uploadId = await test.store.startParts("parts", { contentType: "a/b" });
  const etags: string[] = [];
  for (let partNumber = 1; partNumber <= count / PART_MIB; partNumber++) {
    const signed = test.store.signPart("parts", {
      uploadId,
      partNumber,
      sizeBytes: part.length,
      expiresInSeconds: 60,
    });
    const answer = await fetch(signed.url, { method: "PUT", headers: signed.requiredHeaders, body: part });
    await answer.body?.cancel();
    etags.push(answer.headers.get("etag")?.replaceAll('"', "") ?? "");
    samplePeak();
  }
  const watching = setInterval(samplePeak, 5);
  await test.store.joinParts("parts", { uploadId, etags });
  clearInterval(watching);
  return ((await test.store.head("parts"))?.sizeBytes ?? 0) / MIB;
}

await transferParts(20);
await transfer(20); // warms up buffers and compiled code
const idle = Deno.memoryUsage().rss;
const objectMib = await transfer(OBJECT_MIB);
const joinedMib = await transferParts(OBJECT_MIB);
console.log(JSON.stringify({ objectMib, joinedMib, growthMib: Math.round((peak - idle) / MIB) }));
await test.stop();
