// yara_deep.ts runs this file in its own process, so that no other code uses memory. It scans 500 MiB and every archive
// that must be rejected, and prints the verdicts, and by how many MiB the process grew.
import { yaraScanner } from "../../../infra/scanner/yara.ts";
import { noise, streamOf } from "../../support/content.ts";
import { bombs, largeBombs } from "./bombs.ts";

const MIB = 1024 * 1024;
const rss = () => Deno.memoryUsage().rss;
const scanner = yaraScanner();
await scanner.status();

async function scanHalfGigabyte() {
  const before = rss();
  let peak = before;
  const chunk = noise(MIB);
  let left = 500;
  const content = new ReadableStream<Uint8Array>({
    pull(controller) {
      peak = Math.max(peak, rss());
      if (left-- === 0) controller.close();
      else controller.enqueue(chunk);
    },
  });
  return { ...await scanner.scan(content), grownMib: Math.round((peak - before) / MIB) };
}

async function scanBomb(content: Uint8Array) {
  const before = rss();
  const found = await scanner.scan(streamOf(content));
  return { ...found, grownMib: Math.round((rss() - before) / MIB) };
}

const halfGigabyte = await scanHalfGigabyte();
const measured: Record<string, unknown> = {};
for (const { name, content } of [...bombs, ...largeBombs]) measured[name] = await scanBomb(content());
await scanner.close();
console.log(JSON.stringify({ halfGigabyte, bombs: measured }));
