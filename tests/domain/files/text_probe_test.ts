import assert from "node:assert/strict";
import fc from "fast-check";
import { TextProbe } from "../../../domain/files/text_probe.ts";

function isText(content: Uint8Array, chunkBytes: number): boolean {
  const probe = new TextProbe();
  for (let i = 0; i < content.length; i += chunkBytes) probe.feed(content.subarray(i, i + chunkBytes));
  return probe.end() !== null;
}

Deno.test("any text is detected as text, however it is split into chunks", () => {
  const texts = fc.string({ unit: "binary" }).map((text) => text.replaceAll("\0", ""));
  fc.assert(fc.property(texts, fc.integer({ min: 1, max: 9 }), (text, chunk) => {
    assert.ok(isText(new TextEncoder().encode(text), chunk));
  }));
});

Deno.test("bytes without a byte order mark are text exactly if they decode as UTF-8 without NUL", () => {
  const pieces = fc.oneof(
    fc.uint8Array({ maxLength: 6 }),
    fc.string({ unit: "grapheme" }).map((t) => new TextEncoder().encode(t)),
  );
  fc.assert(fc.property(fc.array(pieces), fc.integer({ min: 1, max: 9 }), (parts, chunk) => {
    const content = Uint8Array.from(parts.flatMap((part) => [...part]));
    const first = content[0] ?? 0;
    fc.pre(first !== 0xff && first !== 0xfe);
    let expected = !content.includes(0);
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(content);
    } catch {
      expected = false;
    }
    assert.equal(isText(content, chunk), expected);
  }));
});

Deno.test("the beginning is kept and limited, also for one long chunk", () => {
  const probe = new TextProbe();
  probe.feed(new TextEncoder().encode("a".repeat(1_000_000)));
  probe.feed(new TextEncoder().encode("b".repeat(1_000_000)));
  const found = probe.end();
  assert.deepEqual([found?.encoding, found?.opening], ["utf-8", "a".repeat(8192)]);
});
