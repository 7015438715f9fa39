import { createHash } from "node:crypto";
import { connectObjectStore, type ObjectStore } from "../../infra/objectstore/objectstore.ts";
import { clamdScanner } from "../../infra/scanner/clamd.ts";
import type { Scanner } from "../../infra/scanner/scanner.ts";
import { clamdInstalled, startClamd } from "../../tests/support/clamd.ts";
import { contentOf, openFileUser, uploadFile } from "./file_setup.ts";
import { type BenchSetup, median, printResult, rounded } from "./bench_setup.ts";

const MEGABYTES = 500;
const ROUNDS = 3;
const SIZE = MEGABYTES * 1024 * 1024;

/**
 * Time of scanning one large file, against only copying the same object in the store and streaming it through SHA-256
 * and clamd. The store runs in a separate process.
 */
export async function filesScan(setup: BenchSetup): Promise<void> {
  if (!clamdInstalled) return console.log("  - skipped: clamd is not installed");
  const folder = await Deno.makeTempDir({ prefix: "steward-bench-store-" });
  const clamd = await startClamd({
    streamMaxLength: "600M",
    extra: ["MaxFileSize 600M", "MaxScanSize 600M", "MaxScanTime 0"],
  });
  const [accessKey, secretKey] = ["bench", "bench-secret"];
  const store = await setup.startPeer("object_store_peer.ts", [folder, accessKey, secretKey]);
  const endpoint = `http://127.0.0.1:${store.port}`;
  const service = await setup.startService({
    S3_ENDPOINT: endpoint,
    S3_ACCESS_KEY: accessKey,
    S3_SECRET_KEY: secretKey,
    SCANNER: "clamd",
    CLAMD_HOST: clamd.host,
    CLAMD_PORT: String(clamd.port),
    FILE_PROFILES: JSON.stringify({ document: { maxBytes: SIZE } }),
  });
  const scanner = clamdScanner({ host: clamd.host, port: clamd.port });
  const objects = connectObjectStore({
    endpoint,
    publicEndpoint: endpoint,
    region: "us-east-1",
    bucket: "steward",
    accessKey,
    secretKey,
    pathStyle: true,
  });
  try {
    const user = await openFileUser(setup, service.port);
    await uploadFile(service.port, user, { profile: "document", content: contentOf(5_000_000) }); // warm-up
    const content = contentOf(SIZE);
    const ratios: number[] = [];
    const growths: number[] = [];
    let last = "";
    for (let round = 0; round < ROUNDS; round++) {
      const watched = watchMemory(service.pid);
      const fileId = await uploadFile(service.port, user, { profile: "document", content });
      growths.push(watched.stop());
      const [file] = await setup.sql<{ finalKey: string; finalEtag: string; ms: number }[]>`
        select final_key, final_etag, (extract(epoch from a.completed_at - a.started_at) * 1000)::int as ms
        from files f join file_scan_attempts a on a.file_id = f.id where f.id = ${fileId}`;
      if (!file) throw new Error("the file has no scan attempt");
      const alone = await copyAndStream(objects, scanner, file);
      ratios.push(alone / file.ms);
      last = `${file.ms} ms against ${Math.round(alone)} ms`;
    }
    printResult(`a file of ${MEGABYTES} MB, against copy and stream alone`, rounded(median(ratios)), " ×", {
      min: 0.7,
    });
    printResult("growth of the service's memory", Math.round(median(growths)), " MB", { max: 64 });
    console.log(`    last round: ${last}`);
  } finally {
    await scanner.close();
    await service.stop();
    await store.stop();
    await clamd.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

async function copyAndStream(
  objects: ObjectStore,
  scanner: Scanner,
  { finalKey, finalEtag }: { finalKey: string; finalEtag: string },
): Promise<number> {
  const started = performance.now();
  await objects.copy(finalKey, "bench/copy", { ifEtag: finalEtag });
  const hash = createHash("sha256");
  const hashed = (await objects.read("bench/copy")).pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        hash.update(chunk);
        controller.enqueue(chunk);
      },
    }),
  );
  const { verdict } = await scanner.scan(hashed);
  hash.digest("hex");
  if (verdict !== "Clean") throw new Error(`the content was ${verdict}`);
  return performance.now() - started;
}

/**
 * Samples a process's resident memory. `stop` returns the difference between the highest and the first sample, in MB.
 */
function watchMemory(pid: number): { stop(): number } {
  const read = () =>
    Number(/VmRSS:\s+(\d+)/.exec(Deno.readTextFileSync(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;
  const first = read();
  let highest = first;
  const timer = setInterval(() => highest = Math.max(highest, read()), 50);
  return {
    stop() {
      clearInterval(timer);
      return Math.max(highest, read()) - first;
    },
  };
}
