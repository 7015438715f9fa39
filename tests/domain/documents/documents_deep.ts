// A very large document, and documents of any text.
import fc from "fast-check";
import assert from "node:assert/strict";
import { sheetsOf } from "./long_table.ts";
import { requireWhole } from "./documents.ts";

Deno.test("a sheet has as many rows as spreadsheet programs open", async () => {
  const { rows: [first = 0, ...more] } = await sheetsOf(1_049_000);
  assert.ok(more.length === 1 && first <= 1_048_576 && first > 1_048_500, String(first));
});

Deno.test("no text breaks a pdf", async () => {
  const any = fc.sample(fc.string({ unit: "binary", maxLength: 30 }), 100);
  const mark = fc.integer({ min: 0x300, max: 0x1aff }).map((code) => String.fromCodePoint(code));
  await requireWhole([...any, ...fc.sample(fc.string({ unit: mark }), 100)]);
});
