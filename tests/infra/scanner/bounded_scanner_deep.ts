import assert from "node:assert/strict";
import { readConfig } from "../../../infra/config.ts";
import { createLog } from "../../../infra/log.ts";
import { openScanner } from "../../../infra/scanner/configured_scanner.ts";
import { engineLikeClamd } from "../../support/clamd.ts";
import { packedBlanks, rawGzip, zip } from "../../support/samples.ts";
import { blanks, bombs } from "./bombs.ts";
import { CLEAN, scanBy } from "./scanning.ts";

const entries = (count: number) => zip(Array.from({ length: count }, (_, n) => [`${n}`, ""]));
const copies = (inner: Uint8Array) => zip(Array.from({ length: 16 }, (_, n) => [`${n}.zip`, inner]));
const BYTES = /more than 300000000 bytes/;
const large: typeof bombs = [
  { name: "10,001 entries", reason: /more than 10000 entries/, content: () => entries(10_001) },
  { name: "a gigabyte", reason: BYTES, content: () => zip([["a", packedBlanks(52)]]) },
  { name: "a gigabyte in a gzip", reason: BYTES, content: () => rawGzip(packedBlanks(52).packed) },
  {
    name: "sixteen zips of sixteen zips of blanks",
    reason: /more than 100 times/,
    content: () => copies(copies(zip([["a", blanks(100_000)]]))),
  },
];

Deno.test("large archives are rejected before the engine scans them; one at the limit of entries is scanned", async () => {
  const engine = engineLikeClamd();
  const config = readConfig({ SCANNER: "clamd", CLAMD_HOST: "127.0.0.1", CLAMD_PORT: String(engine.port) });
  const scanner = openScanner(config, { log: createLog("off"), onVerdict() {} });
  const scan = scanBy(scanner);
  for (const { name, reason, content } of large) {
    const found = await scan(content());
    assert.match(found.verdict === "Rejected" ? found.reason : found.verdict, reason, name);
  }
  assert.equal(engine.scans(), 0);
  assert.deepEqual(await scan(entries(10_000)), CLEAN);
  await scanner.close();
  engine.close();
});
