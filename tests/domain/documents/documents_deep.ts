// A very large document.
import assert from "node:assert/strict";
import { sheetsOf } from "./long_table.ts";

Deno.test("a sheet has as many rows as spreadsheet programs open", async () => {
  const { rows: [first = 0, ...more] } = await sheetsOf(1_049_000);
  assert.ok(more.length === 1 && first <= 1_048_576 && first > 1_048_500, String(first));
});
