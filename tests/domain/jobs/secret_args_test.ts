import assert from "node:assert/strict";
import { hideInJson } from "../../../domain/jobs/remote/reported_secrets.ts";
import { secretMasks } from "../../../domain/jobs/types/secret_args.ts";

const type = { secretArgs: [{ path: "*" }] };
const argsWith = (secrets: number) => Array.from({ length: secrets }, (_, n) => `secret-${n}-`);

Deno.test("secrets are masked, also those that JSON escapes", () => {
  const mask = secretMasks()(type, ['a "secret"', "abc"]);
  assert.equal(mask('a "secret", "a \\"secret\\"", abc'), '***, "***", abc');
});

Deno.test("a text in which the search for all secrets would take too long is hidden whole", () => {
  const maskOf = secretMasks();
  const [many, one] = [maskOf(type, argsWith(3_000)), maskOf(type, argsWith(1))];
  assert.equal(many("secret-1- ".padEnd(100_000)), "***");
  assert.equal(many("secret-1-"), "***");
  assert.equal(many("others"), "others");
  assert.equal(one("secret-0- ".padEnd(100_000)), "*** ".padEnd(99_994));
});

Deno.test("the limit of the search holds for all texts of a report together", () => {
  const mask = secretMasks()(type, argsWith(10_000));
  const outputs = Array.from({ length: 4_000 }, (_, n) => `output ${n}`);
  assert.equal(hideInJson('["secret-1-","output"]', mask), '["***","output"]');
  assert.equal(hideInJson(JSON.stringify(["secret-1-", ...outputs]), mask), '"***"');
});
