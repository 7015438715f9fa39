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

Deno.test("texts with more differences are not compared any further, and none of their lines are listed", async () => {
  for (
    const after of [
      text((n) => `other ${n}`),
      text((n) => `line ${LINES - n}`),
      text((n) => n % 10 === 0 ? `changed ${n}` : `line ${n}`),
    ]
  ) {
    assert.deepEqual(await compareFields({ body: before }, { body: after }), [
      { field: "body", isTooDifferent: true, parts: [] },
    ]);
  }
});

Deno.test("other requests get their turns between the texts of a template", async () => {
  const names = ["a", "b", "c", "d", "e", "f"];
  const after = text((n) => `line ${LINES - n}`);
  const all = (value: string) => Object.fromEntries(names.map((name) => [name, value]));
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  try {
    assert.equal((await compareFields(all(before), all(after))).length, names.length);
  } finally {
    clearInterval(timer);
  }
  assert.ok(turns >= names.length - 1, `${turns} turns`);
});
