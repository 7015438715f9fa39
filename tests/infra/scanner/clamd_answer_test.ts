import assert from "node:assert/strict";
import { clamdScanner, parseVerdict, parseVersion } from "../../../infra/scanner/clamd.ts";
import { ScanBeyondLimits, ScanUnavailable } from "../../../infra/scanner/scanner.ts";
import { freePort } from "../../../infra/embedded/free_port.ts";
import { stallAfter, streamOf } from "../../support/content.ts";
import { unavailable } from "./scanning.ts";

Deno.test("only the exact answers for a clean and for an infected stream are verdicts", () => {
  assert.deepEqual(parseVerdict("stream: OK"), { verdict: "Clean" });
  const infected = { verdict: "Infected", signatureName: "Win.Test.EICAR_HDB-1" };
  assert.deepEqual(parseVerdict("stream: Win.Test.EICAR_HDB-1 FOUND"), infected);
  const indefinite = [
    "",
    "OK",
    "stream: ok",
    "stream: OK ",
    " stream: OK",
    "stream: OK FOUNDATION",
    "1: stream: OK",
    "stream:  FOUND",
    "stream: Access denied. ERROR",
    "INSTREAM size limit exceeded. ERROR",
    "COMMAND READ TIMED OUT",
    "UNKNOWN COMMAND",
    "stream: Heuristics.Limits.Exceeded.MaxFileSize FOUND",
  ];
  for (const answer of indefinite) {
    const expected = /limit/i.test(answer) ? ScanBeyondLimits : ScanUnavailable;
    assert.throws(() => parseVerdict(answer), expected, answer);
  }
});

Deno.test("the version is read with and without a signed database", () => {
  assert.deepEqual(parseVersion("ClamAV 1.4.6"), {
    engine: "ClamAV 1.4.6",
    databaseVersion: null,
    databaseDate: null,
  });
  assert.deepEqual(parseVersion("ClamAV 1.4.6/27345/Wed Jun  3 00:40:09 2021"), {
    engine: "ClamAV 1.4.6",
    databaseVersion: "27345",
    databaseDate: new Date("2021-06-03T00:40:09Z"),
  });
  assert.equal(parseVersion("ClamAV 1.4.6/27345/someday").databaseDate, null);
  assert.throws(() => parseVersion("UNKNOWN COMMAND"), ScanUnavailable);
});

/** Answers that a real clamd does not give. */
const fakeAnswers: [answer: string, afterBytes: number, expected: RegExp][] = [
  ["stream: OK", 24, /in the middle of its answer/],
  ["stream: OK\0", 10, /did not read the whole content/],
  ["x".repeat(5000), 24, /no end within 4096 bytes/],
  ["\xff\xfe\0", 24, /gave no verdict/],
];

Deno.test("a daemon that answers otherwise yields no verdict; a newline ends an answer, like NUL", async () => {
  const scanned = async (answer: string, afterBytes: number) => {
    await using daemon = fakeDaemon(answer, afterBytes);
    const content = afterBytes < 24 ? new ReadableStream<Uint8Array>() : streamOf(new Uint8Array(6));
    return await clamdScanner({ host: "127.0.0.1", port: daemon.port }).scan(content);
  };
  for (const [answer, afterBytes, expected] of fakeAnswers) {
    await unavailable(scanned(answer, afterBytes), expected);
  }
  assert.deepEqual(await scanned("stream: OK\n", 24), { verdict: "Clean" });
});

Deno.test("a missing clamd gives no verdict and no status", async () => {
  const scanner = clamdScanner({ host: "127.0.0.1", port: freePort() });
  const { stream, cancelled } = stallAfter(new Uint8Array(100));
  await unavailable(scanner.scan(stream), /cannot connect/);
  await cancelled;
  await unavailable(scanner.status(), /cannot connect/);
});

/** Accepts one connection, reads some bytes (10 of command, 4 + 6 of content, 4 of end), answers and closes it. */
function fakeDaemon(answer: string, afterBytes: number): { port: number } & AsyncDisposable {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const served = (async () => {
    using conn = await listener.accept();
    for (let read = 0; read < afterBytes;) read += await conn.read(new Uint8Array(64)) ?? 64;
    await conn.write(Uint8Array.from(answer, (c) => c.charCodeAt(0)));
  })();
  return {
    port: listener.addr.port,
    async [Symbol.asyncDispose]() {
      await served;
      listener.close();
    },
  };
}
