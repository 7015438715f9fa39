import assert from "node:assert/strict";
import {
  type ImportRows,
  MAX_IMPORT_ROWS,
  rowsOfDocument,
  rowsOfFile,
} from "../../../../domain/access/permissions/permission_import_rows.ts";
import { Problem } from "../../../../domain/problems/problem.ts";

const item = { code: "a:b", category: "C" };
const csv = (text: string) =>
  rowsOfFile({ fileName: "p.csv", bytes: new TextEncoder().encode(text) }, undefined);
const refusal = async (read: () => unknown): Promise<string> => {
  try {
    await read();
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
  assert.fail("nothing was refused");
};

Deno.test("the limit of 50,000 permissions applies to every import format", async () => {
  assert.equal(MAX_IMPORT_ROWS, 50_000);
  const forms: ((count: number) => ImportRows | Promise<ImportRows>)[] = [
    (count) => rowsOfDocument({ permissions: Array(count).fill(item) }, undefined),
    (count) =>
      rowsOfDocument({ catalog: [{ category: "C", permissions: Array(count).fill(item) }] }, undefined),
    (count) =>
      rowsOfDocument({ catalog: Array(count).fill({ category: "C", permissions: [item] }) }, undefined),
    (count) => rowsOfDocument({ catalog: Array(count).fill("no group") }, "Catalog"),
    (count) => csv("code,category\n" + "a:b,C\n".repeat(count)),
    (count) => csv("code,category\n" + 'a"b,C\n'.repeat(count)),
  ];
  assert.equal((await forms[0]?.(MAX_IMPORT_ROWS))?.rows.length, MAX_IMPORT_ROWS);
  for (const read of forms) {
    assert.match(await refusal(() => read(MAX_IMPORT_ROWS + 1)), /at most 50000 permissions/);
  }
});

Deno.test("the error for a header with a million columns does not repeat all of them", async () => {
  assert.ok((await refusal(() => csv("x,".repeat(1_000_000)))).length < 500);
});
