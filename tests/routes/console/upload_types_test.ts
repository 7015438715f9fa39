import assert from "node:assert/strict";
import { declaredType } from "../../../routes/console/files/types.ts";

Deno.test("an upload declares its type by the extension, and JSON as the plain text that profiles accept", () => {
  assert.equal(declaredType("people.CSV", "application/vnd.ms-excel"), "text/csv");
  assert.equal(declaredType("people.json", "application/json"), "text/plain");
  assert.equal(declaredType("people.constructor", ""), "application/octet-stream");
  assert.equal(declaredType("people.xyz", "image/png"), "image/png");
});
