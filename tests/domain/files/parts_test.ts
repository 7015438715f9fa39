import assert from "node:assert/strict";
import fc from "fast-check";
import { MAX_PARTS, partMistakes, partSize, planParts } from "../../../domain/files/parts.ts";

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const LARGEST = 5_000 * GIB; // 1,000 parts of 5 GiB

Deno.test("any size is split into parts that the storage accepts, and the parts add up to the size", () => {
  const asked = fc.oneof(fc.constant(true as const), fc.integer({ min: 1, max: MAX_PARTS }));
  const sizes = fc.oneof(fc.integer({ min: 1, max: GIB }), fc.integer({ min: 1, max: LARGEST }));
  fc.assert(fc.property(sizes, asked, (sizeBytes, parts) => {
    const plan = planParts(sizeBytes, parts);
    if (plan === null) {
      assert.notEqual(parts, true, "left to itself the service finds a plan");
      const each = sizeBytes / Number(parts);
      assert.ok(each <= 5 * MIB || each > 5 * GIB - 1, `${parts} parts of ${each} bytes would do`);
      return;
    }
    if (parts !== true) assert.equal(plan.count, parts);
    assert.ok(plan.count <= MAX_PARTS);
    const [first, last] = [partSize(plan, sizeBytes, 1), partSize(plan, sizeBytes, plan.count)];
    assert.ok(plan.count === 1 || (first >= 5 * MIB && first <= 5 * GIB));
    assert.ok(last >= 1 && last <= first);
    assert.equal((plan.count - 1) * plan.partBytes + last, sizeBytes);
  }));
});

Deno.test("an error names missing, repeated and surplus parts, and long lists are cut", () => {
  const part = (partNumber: number) => ({ partNumber, etag: "e" });
  assert.equal(partMistakes([part(2), part(1)], 2), null);
  assert.deepEqual(partMistakes([part(3), part(1), part(1)], 2), {
    "parts.0.partNumber": ["expected one of the parts 1 to 2"],
    "parts.2.partNumber": ["part 1 is named twice"],
    parts: ["expected all 2 parts; missing: 2"],
  });
  assert.deepEqual(partMistakes([part(1)], 100)?.parts, [
    "expected all 100 parts; missing: 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 89 more",
  ]);
});
