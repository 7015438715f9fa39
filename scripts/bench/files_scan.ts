import { createHash } from "node:crypto";
import { connectObjectStore, type ObjectStore } from "../../infra/objectstore/objectstore.ts";
import { clamdScanner } from "../../infra/scanner/clamd.ts";
import type { Scanner } from "../../infra/scanner/scanner.ts";
import { clamdInstalled, startClamd, type TestClamd } from "../../tests/support/clamd.ts";
import { hashingStream } from "../shared/hashing_stream.ts";
import { type BenchSetup, memoryGrowth } from "./bench_setup.ts";
import { compare, median, report, scaled, timeOf } from "./compare.ts";
import { contentOf, openFileUser, uploadFile } from "./file_setup.ts";

const MEGABYTES = scaled(500);
const SIZE = MEGABYTES * 1024 * 1024;

/**
 * Time of scanning one large file, against only copying the same object in the store and streaming it through SHA-256
 * and clamd. The store runs in a separate process.
 */
export async function filesScan(setup: BenchSetup): Promise<void> {
  if (!clamdInstalled) return console.log("  - skipped: clamd is not installed");
  const limits = ["MaxFileSize 600M", "MaxScanSize 600M", "MaxScanTime 0"];
  const clamd = await startClamd({ streamMaxLength: "600M", extra: limits });
  try {
    await scanWith(setup, clamd);
  } finally {
    await clamd.stop();
  }
}

async function scanWith(setup: BenchSetup, { host, port }: TestClamd): Promise<void> {
  const store = await setup.startObjectStore();
  const service = await setup.startService({
    ...store,
    SCANNER: "clamd",
    CLAMD_HOST: host,
    CLAMD_PORT: String(port),
    FILE_PROFILES: JSON.stringify({ document: { maxBytes: SIZE } }),
  });
  const scanner = clamdScanner({ host, port });
  const objects = connectObjectStore({
    endpoint: store.S3_ENDPOINT,
    publicEndpoint: store.S3_ENDPOINT,
    region: "us-east-1",
    bucket: "steward",
    accessKey: store.S3_ACCESS_KEY,
    secretKey: store.S3_SECRET_KEY,
    pathStyle: true,
  });
  const user = await openFileUser(setup, service.port);
  const content = contentOf(SIZE);
  const growths: number[] = [];
  let object = { finalKey: "", finalEtag: "" };
  await compare({
    name: `a file of ${MEGABYTES} MB, against copy and stream alone`,
    unit: " ms",
    async ours() {
      const { result, megabytes } = await memoryGrowth(
        service,
        () => uploadFile(service.port, user, content),
      );
      growths.push(megabytes);
      const [file] = await setup.sql<{ finalKey: string; finalEtag: string; ms: number }[]>`
        select final_key, final_etag, (extract(epoch from a.completed_at - a.started_at) * 1000)::int as ms
        from files f join file_scan_attempts a on a.file_id = f.id where f.id = ${result}`;
      if (!file) throw new Error("the file has no scan attempt");
      object = file;
      return file.ms;
    },
    baseline: () => timeOf(() => copyAndStream(objects, scanner, object)),
    minSpeed: 0.7,
  });
  report("growth of the service's memory", median(growths.slice(1)), " MB", { max: 64 });
  await scanner.close();
}

async function copyAndStream(
  objects: ObjectStore,
  scanner: Scanner,
  { finalKey, finalEtag }: { finalKey: string; finalEtag: string },
): Promise<void> {
  await objects.copy(finalKey, "bench/copy", { ifEtag: finalEtag });
  const hash = createHash("sha256");
  const content = (await objects.read("bench/copy")).pipeThrough(hashingStream(hash));
  const { verdict } = await scanner.scan(content);
  hash.digest("hex");
  if (verdict !== "Clean") throw new Error(`the content was ${verdict}`);
}
