// yara_test.ts runs this file in its own process, so that no other code uses memory. It scans 500 MiB and prints the
// verdict, and by how many MiB the process grew.
import { yaraScanner } from "../../../infra/scanner/yara.ts";
import { noise } from "../../support/content.ts";

const MIB = 1024 * 1024;
const scanner = yaraScanner();
await scanner.status();
const before = Deno.memoryUsage().rss;
let peak = before;
const chunk = noise(MIB);
let left = 500;
const content = new ReadableStream<Uint8Array>({
  pull(controller) {
    peak = Math.max(peak, Deno.memoryUsage().rss);
    if (left-- === 0) controller.close();
    else controller.enqueue(chunk);
  },
});
const { verdict } = await scanner.scan(content);
await scanner.close();
console.log(JSON.stringify({ verdict, grownMib: Math.round((peak - before) / MIB) }));
