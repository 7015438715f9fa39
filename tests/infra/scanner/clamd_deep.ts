import assert from "node:assert/strict";
import { clamdScanner } from "../../../infra/scanner/clamd.ts";
import { clamdInstalled, startClamd, type TestClamd } from "../../support/clamd.ts";
import { eicar, noise, stallAfter, streamOf } from "../../support/content.ts";
import { unavailable } from "./scanning.ts";

const ignore = !clamdInstalled;
const megabyte = 1024 * 1024;

/** One clamd for all tests that do not break it, because clamd needs a second to start. */
Deno.test({
  name: "a running clamd",
  ignore,
  async fn(t) {
    const clamd = await startClamd({
      readTimeoutSeconds: 1,
      extra: ["AlertExceedsMax yes", "MaxFileSize 1M", "MaxScanSize 1M"],
    });
    const scanner = clamdScanner({ ...clamd, idleTimeoutMs: 10_000 });
    await t.step("reports clean and empty content as clean", async () => {
      assert.deepEqual(await scanner.scan(streamOf(noise(500_000))), { verdict: "Clean" });
      assert.deepEqual(await scanner.scan(streamOf(new Uint8Array(0))), { verdict: "Clean" });
    });
    await t.step("finds the EICAR test file, whole and in 7-byte chunks", async () => {
      const infected = { verdict: "Infected", signatureName: "Eicar-Test-Signature.UNOFFICIAL" };
      assert.deepEqual(await scanner.scan(streamOf(eicar())), infected);
      assert.deepEqual(await scanner.scan(streamOf(eicar(), 7)), infected);
    });
    await t.step("gives each of many concurrent scans its own verdict", async () => {
      const verdicts = await Promise.all(
        Array.from({ length: 12 }, (_, i) => scanner.scan(streamOf(i % 2 ? eicar() : noise(200_000, i + 1)))),
      );
      assert.deepEqual(verdicts.map((v) => v.verdict === "Infected"), verdicts.map((_, i) => i % 2 === 1));
    });
    await t.step("gives no verdict for content above StreamMaxLength", async () => {
      for (const size of [2 * megabyte + 1, 16 * megabyte]) {
        await unavailable(scanner.scan(streamOf(noise(size))), /INSTREAM size limit exceeded\. ERROR/);
      }
    });
    await t.step("gives no verdict on content the engine scanned only in part", async () => {
      await unavailable(scanner.scan(streamOf(noise(megabyte + 4096))), /Heuristics\.Limits\.Exceeded/);
    });
    await t.step("gives no verdict when the content stalls longer than ReadTimeout", async () => {
      const { stream, cancelled } = stallAfter(noise(100));
      await unavailable(scanner.scan(stream), /COMMAND READ TIMED OUT/);
      await cancelled;
    });
    await t.step("rethrows an error of the content stream unchanged", async () => {
      const broken = new Error("object gone");
      await assert.rejects(scanner.scan(new ReadableStream({ pull: (c) => c.error(broken) })), broken);
    });
    await t.step("stops at the caller's signal and releases the content", async () => {
      const stop = new AbortController();
      const { stream, cancelled } = stallAfter(noise(100));
      const scan = scanner.scan(stream, { signal: stop.signal });
      stop.abort(new Error("shutting down"));
      await assert.rejects(scan, /shutting down/);
      await cancelled;
    });
    await t.step("reports its version, and no database version if it has only a hash database", async () => {
      const status = await scanner.status();
      assert.match(status.engine, /^ClamAV \d+\.\d+\.\d+/);
      assert.deepEqual([status.databaseVersion, status.databaseDate], [null, null]);
    });
    await t.step("is unavailable after close, also for a running scan", async () => {
      const { stream } = stallAfter(noise(100));
      const scan = scanner.scan(stream);
      await scanner.close();
      await unavailable(scan, /closed/);
      await unavailable(scanner.scan(streamOf(eicar())), /closed/);
    });
    await clamd.stop();
  },
});

Deno.test({
  name: "a clamd that dies during a scan gives no verdict",
  ignore,
  fn: () =>
    withClamd(async (clamd) => {
      let chunks = 0;
      const killing = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (chunks++ === 3) clamd.kill("SIGKILL");
          controller.enqueue(noise(100_000));
        },
      });
      await unavailable(clamdScanner(clamd).scan(killing), /without an answer|connection broke/);
    }),
});

Deno.test({
  name: "a hung clamd gives no verdict within the scanner's time limit",
  ignore,
  fn: () =>
    withClamd(async (clamd) => {
      clamd.kill("SIGSTOP");
      const scanner = clamdScanner({
        ...clamd,
        connectTimeoutMs: 500,
        idleTimeoutMs: 500,
        answerTimeoutMs: 500,
      });
      await unavailable(scanner.scan(streamOf(eicar())), /waiting for the verdict took longer than 500 ms/);
      await unavailable(scanner.scan(streamOf(noise(64 * megabyte))), /handing over content took longer/);
      await unavailable(scanner.status(), /asking for the version took longer/);
      clamd.kill("SIGCONT");
      assert.equal((await scanner.scan(streamOf(eicar()))).verdict, "Infected");
    }),
});

async function withClamd(use: (clamd: TestClamd) => Promise<void>): Promise<void> {
  const clamd = await startClamd();
  try {
    await use(clamd);
  } finally {
    await clamd.stop();
  }
}
