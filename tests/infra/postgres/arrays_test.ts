import assert from "node:assert/strict";
import fc from "fast-check";
import { connectPostgres } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";

Deno.test("arrays of any text are read from the database as they were written", async () => {
  const sql = connectPostgres(await createTestDatabase(), { max: 1 });
  const text = fc.string({ unit: "grapheme" }).map((value) => value.replaceAll("\0", "").toWellFormed());
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(text)), async (values) => {
        const [row] = await sql<{ back: unknown }[]>`select ${values}::text[] as back`;
        assert.deepEqual(row?.back, values);
      }),
      { numRuns: 60 },
    );
  } finally {
    await sql.end();
  }
});

Deno.test("each element type is parsed to its JavaScript type", async () => {
  const sql = connectPostgres(await createTestDatabase(), { max: 1 });
  const at = new Date("2026-01-31T12:00:00.000Z");
  const [row] = await sql`select ${[1, -2]}::int[] as ints, ${[1.5, null]}::float8[] as doubles,
    ${[
    at.toISOString(),
  ]}::timestamptz[] as times, array[true, false] as flags, array['{"a":[1]}']::jsonb[] as jsons, '{}'::uuid[] as none`;
  await sql.end();
  assert.deepEqual({ ...row }, {
    ints: [1, -2],
    doubles: [1.5, null],
    times: [at],
    flags: [true, false],
    jsons: [{ a: [1] }],
    none: [],
  });
});

Deno.test("the first query of a new connection may have array parameters", async () => {
  const url = await createTestDatabase();
  for (let run = 0; run < 6; run++) {
    const sql = connectPostgres(url, { max: 3 });
    const rows = await Promise.all(
      [1, 2, 3].map((n) => sql`select ${[`a${n}`]}::text[] as a, ${[n]}::int[] as b`),
    );
    assert.equal(rows.length, 3);
    await sql.end();
  }
});
