import assert from "node:assert/strict";
import { readArgsSchema } from "../../../domain/jobs/types/find_job_types.ts";

const check = async (schema: unknown) => {
  const args = await readArgsSchema(JSON.stringify(schema));
  return (value: unknown) =>
    args.safeParse(value).error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`) ?? [];
};
const TOO_LARGE = [": too large to be checked against the schema of the job type"];

Deno.test("arguments of usual size are never too large to check", async () => {
  const properties = {
    id: { type: "integer" },
    name: { type: "string", minLength: 1, maxLength: 200 },
    email: { type: "string", pattern: "^[^@]+@[^@]+$" },
  };
  const items = { type: "object", required: ["id", "name", "email"], properties };
  const rows = await check({ properties: { rows: { type: "array", uniqueItems: true, items } } });
  const row = (id: number) => ({ id, name: `Customer ${id}`, email: `c${id}@example.test` });
  assert.deepEqual(rows({ rows: Array.from({ length: 10_000 }, (_, id) => row(id)) }), []);
});

Deno.test("hostile arguments of many items end soon", async () => {
  const wide = await check({ items: { anyOf: Array.from({ length: 400 }, (_, n) => ({ const: `v${n}` })) } });
  assert.deepEqual(wide(Array.from({ length: 200_000 }, () => "v399")), TOO_LARGE);

  const unique = await check({ uniqueItems: true });
  assert.deepEqual(unique(Array.from({ length: 150_000 }, (_, n) => n)), []);
  const repeated = await check({ allOf: Array.from({ length: 400 }, () => ({ uniqueItems: true })) });
  assert.deepEqual(repeated(Array.from({ length: 150_000 }, (_, n) => n)), TOO_LARGE);

  const patterns = await check({
    allOf: Array.from({ length: 300 }, (_, n) => ({ pattern: `(x+x+)+y${n}|.*` })),
  });
  assert.deepEqual(patterns("x".repeat(500_000)), TOO_LARGE);
});
