import assert from "node:assert/strict";
import { readArgsSchema } from "../../../domain/jobs/types/find_job_types.ts";
import { Problem } from "../../../domain/problems/problem.ts";

const check = async (schema: unknown) => {
  const args = await readArgsSchema(JSON.stringify(schema));
  return (value: unknown) =>
    args.safeParse(value).error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`) ?? [];
};
const TOO_LARGE = [": too large to be checked against the schema of the job type"];

Deno.test("arguments are checked as JSON Schema 2020-12 says", async () => {
  const order = await check({
    type: "object",
    required: ["id"],
    properties: {
      id: { type: "integer", minimum: 1 },
      tags: { type: "array", items: { type: "string", pattern: "^[a-z]+$" }, uniqueItems: true },
      kind: { enum: ["a", "b", { c: 1 }] },
      next: { $ref: "#" },
      pair: { prefixItems: [{ type: "string" }, { type: "number" }], items: false },
    },
    patternProperties: { "^x-": { type: "boolean" } },
    unevaluatedProperties: false,
  });
  const fitting = [
    { id: 1 },
    {
      id: 1,
      tags: ["a", "b"],
      kind: { c: 1 },
      next: { id: 2, next: { id: 3 } },
      pair: ["a", 1],
      "x-y": true,
    },
  ];
  for (const value of fitting) assert.deepEqual(order(value), [], JSON.stringify(value));
  const refused: [unknown, string][] = [
    [{}, ": must have required property 'id'"],
    [{ id: 0 }, "id: must be >= 1"],
    [{ id: 1, tags: ["a", "A"] }, 'tags.1: must match pattern "^[a-z]+$"'],
    [{ id: 1, tags: ["a", "a"] }, 'tags: must pass "uniqueItems" keyword validation'],
    [{ id: 1, kind: "c" }, "kind: must be equal to one of the allowed values"],
    [{ id: 1, next: { id: 2, next: { id: "x" } } }, "next.next.id: must be integer"],
    [{ id: 1, pair: ["a", 1, 2] }, "pair: must NOT have more than 2 items"],
    [{ id: 1, "x-y": 1 }, "x-y: must be boolean"],
    [{ id: 1, more: 1 }, ": must NOT have unevaluated properties"],
  ];
  for (const [value, message] of refused) assert.deepEqual(order(value), [message]);
});

Deno.test("schemas that are invalid, too large or refer elsewhere are refused", async () => {
  const refused: unknown[] = [
    { type: "thing" },
    { pattern: "(" },
    { pattern: "(a)\\1" },
    { $ref: "https://example.test/schema.json" },
    { $ref: "#/$defs/absent" },
    { "x-steward-cost": 0 },
    { anyOf: Array.from({ length: 501 }, () => ({ type: "null" })) },
    { description: "x".repeat(32_768) },
  ];
  for (const schema of refused) {
    await assert.rejects(
      () => check(schema),
      (error) => error instanceof Problem,
      JSON.stringify(schema).slice(0, 80),
    );
  }
  let deep: unknown = {};
  for (let n = 0; n < 201; n++) deep = { not: deep };
  await assert.rejects(() => check(deep), Problem);
});

Deno.test("hostile schemas and arguments end soon", async () => {
  const backtracking = await check({ type: "string", pattern: "^(a+)+$" });
  assert.equal(backtracking(`${"a".repeat(100_000)}!`).length, 1);

  const doubled = Object.fromEntries(
    Array.from(
      { length: 60 },
      (_, n) => [`d${n}`, { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] }],
    ),
  );
  const exponential = await check({ $ref: "#/$defs/d0", $defs: { ...doubled, d60: { type: "string" } } });
  assert.deepEqual(exponential("x"), TOO_LARGE);

  const deeper = await check({
    $ref: "#/$defs/node",
    $defs: {
      node: {
        allOf: [{ properties: { x: { $ref: "#/$defs/node" } } }, {
          properties: { x: { $ref: "#/$defs/node" } },
        }],
      },
    },
  });
  let nested: unknown = 1;
  for (let n = 0; n < 100; n++) nested = { x: nested };
  assert.deepEqual(deeper(nested), TOO_LARGE);

  const endless = await check({ $ref: "#/$defs/a", $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }] } } });
  assert.deepEqual(endless(1), TOO_LARGE);
});

Deno.test("a schema may name its dialect, which must be 2020-12", async () => {
  const $schema = "https://json-schema.org/draft/2020-12/schema";
  for (const dialect of [$schema, `${$schema}#`]) {
    assert.deepEqual((await check({ $schema: dialect, type: "integer" }))("x"), [": must be integer"]);
  }
  for (const other of ["http://json-schema.org/draft-07/schema#", "2020-12", 5, null]) {
    await assert.rejects(check({ $schema: other }), /./);
  }
});
