import assert from "node:assert/strict";
import { compareFields } from "../../../domain/shared/text_differences.ts";

const LINES = 14_000;
const text = (line: (n: number) => string, count = LINES) =>
  Array.from({ length: count }, (_, n) => line(n)).join("\n");
const before = text((n) => `line ${n}`);

Deno.test("up to a thousand added and removed lines are shown with the lines around them", async () => {
  const changed = text((n) => n % 30 === 0 ? `changed ${n}` : `line ${n}`);
  const [field] = await compareFields({ body: before }, { body: changed });
  assert.equal(field?.isTooDifferent, false);
  const lines = field?.parts.flatMap(({ lines }) => lines) ?? [];
  const count = (change: string) => lines.filter((line) => line.change === change).length;
  assert.deepEqual([count("Added"), count("Removed")], [467, 467]);
  const [rewritten] = await compareFields({ body: text((n) => `a ${n}`, 500) }, {
    body: text((n) => `b ${n}`, 500),
  });
  assert.deepEqual([rewritten?.isTooDifferent, rewritten?.parts[0]?.lines.length], [false, 1_000]);
});

Deno.test("texts with more differences are not compared any further, none of their lines are listed, and other requests get their turns", async () => {
  const different = [
    text((n) => `other ${n}`),
    text((n) => `line ${LINES - n}`),
    text((n) => n % 10 === 0 ? `changed ${n}` : `line ${n}`),
  ];
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  try {
    const all = await compareFields({ a: before, b: before, c: before }, {
      a: different[0] ?? "",
      b: different[1] ?? "",
      c: different[2] ?? "",
    });
    const expected = ["a", "b", "c"].map((field) => ({ field, isTooDifferent: true, parts: [] }));
    assert.deepEqual(all, expected);
  } finally {
    clearInterval(timer);
  }
  assert.ok(turns >= different.length - 1, `${turns} turns`);
});
