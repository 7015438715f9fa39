import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { yaraScanner } from "../../../infra/scanner/yara.ts";
import { noise, streamOf } from "../../support/content.ts";
import { packedBlanks, zip } from "../../support/samples.ts";
import { bombs, largeBombs } from "./bombs.ts";
import { CLEAN, closing, rulesFolder, scanBy, unavailable } from "./scanning.ts";

for (const { name, reason } of [...bombs, ...largeBombs]) {
  Deno.test(`an archive with ${name} is rejected with a reason and little memory`, async () => {
    const found = (await measured()).bombs[name];
    assert.equal(found?.verdict, "Rejected");
    assert.match(found?.reason ?? "", reason);
    assert.ok(found && found.grownMib < 256, `rss grew by ${found?.grownMib} MiB`);
  });
}

Deno.test("half a gigabyte is scanned in much less memory", async () => {
  const { verdict, grownMib } = (await measured()).halfGigabyte;
  assert.equal(verdict, "Clean");
  assert.ok(grownMib < 256, `rss grew by ${grownMib} MiB`);
});

Deno.test("a report of the service may unpack to more than an upload", async () => {
  await using yara = closing(yaraScanner());
  const scan = scanBy(yara.scanner);
  assert.deepEqual(await scan(zip([["a", packedBlanks(11)]]), undefined, { isOwn: true }), CLEAN);
});

Deno.test("the event loop is not blocked while a large archive is scanned", async () => {
  const content = streamOf(zip([["a", packedBlanks(5)], ["b", noise(1_500_000)]]));
  await using yara = closing(yaraScanner());
  let longest = 0;
  let last = performance.now();
  const ticking = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 5);
  const found = await yara.scanner.scan(content).finally(() => clearInterval(ticking));
  assert.equal(found.verdict, "Clean");
  assert.ok(longest < 500, `nothing else ran for ${Math.round(longest)} ms`);
});

Deno.test("a thread that hangs is replaced: no verdict now, a verdict next time", async () => {
  const slow =
    "rule slow { condition: for any i in (0..filesize) : (for any j in (0..filesize) : (uint8(i) + uint8(j) == 1000)) }";
  const rules = await rulesFolder({ "slow.yar": slow });
  await using yara = closing(yaraScanner({ rulesFolder: rules, stepTimeoutMs: 1500, threads: 1 }));
  const scan = scanBy(yara.scanner);
  assert.deepEqual(await scan(noise(10)), CLEAN);
  await unavailable(scan(noise(256)), /the step "finish" took longer than 1500 ms/);
  assert.deepEqual(await scan(noise(10)), CLEAN);
});

interface Measured {
  verdict: string;
  reason?: string;
  grownMib: number;
}
let measuring: Promise<{ halfGigabyte: Measured; bombs: Record<string, Measured> }> | undefined;

/** Verdicts and memory of large content, measured once in a process of its own. */
function measured() {
  return measuring ??= (async () => {
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", fileURLToPath(import.meta.resolve("./memory_child.ts"))],
      stderr: "inherit",
    }).output();
    return JSON.parse(new TextDecoder().decode(stdout));
  })();
}
