import assert from "node:assert/strict";
import fc from "fast-check";
import { ScanWindow } from "../../../infra/scanner/scan_window.ts";

const sizes = { window: 16, overlap: 5, head: 3 };

/** The pieces that are matched when content is pushed in these chunks. */
function pieces(content: Uint8Array, chunkBytes: number): Uint8Array[] {
  const examined: Uint8Array[] = [];
  const window = new ScanWindow(sizes, (piece) => examined.push(piece.slice()));
  for (let i = 0; i < content.length; i += chunkBytes) window.push(content.subarray(i, i + chunkBytes));
  window.end();
  return examined;
}

Deno.test("longer content: every run of bytes up to the overlap is scanned, and every piece begins with the head", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 17, maxLength: 200 }),
      fc.integer({ min: 1, max: 40 }),
      (content, chunk) => {
        const examined = pieces(content, chunk);
        for (const piece of examined) {
          assert.equal(piece.length, sizes.window);
          assert.deepEqual(piece.slice(0, sizes.head), content.slice(0, sizes.head));
        }
        const seen = examined.map((piece) => piece.join(" ")).join(" | ");
        for (let i = 0; i + sizes.overlap <= content.length; i++) {
          assert.ok(
            ` ${seen} `.includes(` ${content.subarray(i, i + sizes.overlap).join(" ")} `),
            `bytes at ${i}`,
          );
        }
      },
    ),
  );
});
