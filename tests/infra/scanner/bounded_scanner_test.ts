import assert from "node:assert/strict";
import { readConfig } from "../../../infra/config.ts";
import { createLog } from "../../../infra/log.ts";
import { openScanner } from "../../../infra/scanner/configured_scanner.ts";
import { engineLikeClamd } from "../../support/clamd.ts";
import { noise, stallAfter, streamOf } from "../../support/content.ts";
import { gzip, join, pdf, tar, withMethod, zip } from "../../support/samples.ts";
import { bombs, nested, xz } from "./bombs.ts";
import { CLEAN, encode, scanBy, unavailable } from "./scanning.ts";

// clamd would call all of this clean.
const engine = engineLikeClamd();
const config = readConfig({ SCANNER: "clamd", CLAMD_HOST: "127.0.0.1", CLAMD_PORT: String(engine.port) });
const scanner = openScanner(config, { log: createLog("off"), onVerdict() {} });
const scan = scanBy(scanner);
Deno.test.afterAll(async () => {
  await scanner.close();
  engine.close();
});

/** One archive for each reason. The others have the same reader as those of YARA-X, whose tests have them all. */
const rejected: typeof bombs = [
  ...bombs.filter(({ reason }, n) => bombs.findIndex((each) => each.reason.source === reason.source) === n)
    .filter(({ reason }) => !/entries/.test(reason.source)),
  {
    name: "an encrypted entry of a gigabyte",
    reason: /more than 300000000 bytes/,
    content: () => encrypted(zip([["a", { packed: noise(1_000), sizeBytes: 2 ** 30 }]])),
  },
];

function encrypted(plain: Uint8Array): Uint8Array {
  const view = new DataView(plain.buffer);
  for (const at of [6, view.getUint32(plain.length - 6, true) + 8]) view.setUint16(at, 1, true);
  return plain;
}
Deno.test("with clamd too, archives that a scanner must not unpack are rejected before the engine scans them", async () => {
  for (const { name, reason, content } of rejected) {
    const found = await scan(content());
    assert.match(found.verdict === "Rejected" ? found.reason : found.verdict, reason, name);
  }
  assert.equal(engine.scans(), 0);
});

Deno.test("an engine receives archives within the limits, other content, and files of the service", async () => {
  const scans = engine.scans();
  const contents = [
    nested(3),
    gzip(tar([["a", noise(300_000)]])),
    encode("PK"),
    new Uint8Array(0),
    noise(200_000),
    xz(100),
    withMethod(zip([["a", { packed: noise(30_000), sizeBytes: 100_000 }]]), 14),
    join(pdf(), zip([["a", "text"]]), encode("\n%%EOF\n")),
    tar([["a.zip", zip([["a", "text"]])], ["b.zip", zip([["b", "text"]])]]),
    encode("PK\x03\x04PK\x01\x02PK\x05\x06 text ".repeat(40)),
  ];
  for (const content of contents) {
    for (const chunk of [content.length < 10_000 ? 1 : 1_000, 65_536]) {
      assert.deepEqual(await scan(content, chunk), CLEAN);
    }
  }
  assert.deepEqual(await scan(nested(4), undefined, { isOwn: true }), CLEAN);
  assert.equal(engine.scans(), scans + 2 * contents.length + 1);
});

Deno.test("an archive that breaks off or is aborted gives no verdict, and neither does an engine that is away", async () => {
  const broken = new Error("object gone");
  let pulls = 0;
  const breaking = new ReadableStream<Uint8Array>({
    pull: (c) => pulls++ === 0 ? c.enqueue(nested(1).subarray(0, 600)) : c.error(broken),
  });
  await assert.rejects(scanner.scan(breaking), broken);
  const stop = new AbortController();
  const { stream, cancelled } = stallAfter(zip([["a", noise(5_000)]]));
  const running = scanner.scan(stream, { signal: stop.signal });
  stop.abort(new Error("shutting down"));
  await assert.rejects(running, /shutting down/);
  await cancelled;
  const gone = readConfig({ SCANNER: "clamd", CLAMD_HOST: "127.0.0.1", CLAMD_PORT: "1" });
  const away = openScanner(gone, { log: createLog("off"), onVerdict() {} });
  await unavailable(away.scan(streamOf(nested(1))), /cannot connect/);
  await away.close();
});
