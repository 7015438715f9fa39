import assert from "node:assert/strict";
import fc from "fast-check";
import { RemoteClock } from "../../../infra/clock.ts";
import { connectPostgres } from "../../../infra/postgres/postgres.ts";
import { readTime } from "../../../infra/postgres/timestamps.ts";
import { databaseUrl } from "./database.ts";

const sql = connectPostgres(databaseUrl, { max: 1 });
Deno.test.afterAll(() => sql.end());

Deno.test("arrays of any text are read from the database as they were written", async () => {
  const text = fc.string({ unit: "grapheme" }).map((value) => value.replaceAll("\0", "").toWellFormed());
  const isKept = async (values: (string | null)[]) => {
    const [row] = await sql<{ back: unknown }[]>`select ${values}::text[] as back`;
    assert.deepEqual(row?.back, values);
  };
  await fc.assert(fc.asyncProperty(fc.array(fc.option(text)), isKept), { numRuns: 60 });
});

Deno.test("each element type is parsed to its JavaScript type", async () => {
  const at = new Date("2026-01-31T12:00:00.000Z");
  const [row] = await sql`select ${[1, -2]}::int[] as ints, ${[1.5, null]}::float8[] as doubles,
    ${[
    at.toISOString(),
  ]}::timestamptz[] as times, array[true, false] as flags, array['{"a":[1]}']::jsonb[] as jsons, '{}'::uuid[] as none`;
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
  for (let run = 0; run < 6; run++) {
    const sql = connectPostgres(databaseUrl, { max: 3 });
    const rows = await Promise.all(
      [1, 2, 3].map((n) => sql`select ${[`a${n}`]}::text[] as a, ${[n]}::int[] as b`),
    );
    assert.equal(rows.length, 3);
    await sql.end();
  }
});

Deno.test("times of every year are read from the database as they were written, in every time zone", async () => {
  const instants = [
    "0001-01-01T00:00:00.000Z",
    "0050-06-07T08:09:10.123Z",
    "0099-12-31T23:59:59.999Z",
    "0100-01-01T00:00:00.000Z",
    "1883-11-18T12:00:00.000Z",
    "2026-01-31T12:00:00.120Z",
    "2026-02-28T23:59:58.987Z",
    "9999-12-31T23:59:59.999Z",
  ];
  for (const zone of ["UTC", "Europe/Lisbon", "Asia/Kolkata", "America/St_Johns"]) {
    await sql.unsafe(`set time zone '${zone}'`);
    for (const instant of instants) {
      const [row] = await sql`
        select ${new Date(instant)}::timestamptz as one, array[${instant}::timestamptz] as many`;
      assert.deepEqual([row?.one, row?.many[0]].map((time) => time.toISOString()), [instant, instant], zone);
    }
  }
});

Deno.test("a text that is not a time gives an invalid date; a time before the year 1 is valid", () => {
  for (const text of ["infinity", "-infinity", ""]) {
    assert.ok(Number.isNaN(readTime(text).getTime()), text);
  }
  assert.equal(readTime("2026-02-28 23:59:58.987654+00").toISOString(), "2026-02-28T23:59:58.987Z");
  assert.equal(readTime("12026-02-28 23:59:58.987654+00").getUTCFullYear(), 12026);
  assert.equal(readTime("0001-12-31 23:00:00+00 BC").toISOString(), "0000-12-31T23:00:00.000Z");
  assert.equal(readTime("0050-01-02").toISOString(), "0050-01-02T00:00:00.000Z");
});

Deno.test("a remote clock runs with its base clock, and a reading changes the offset only as far as needed", () => {
  let base = 0;
  const clock = new RemoteClock(() => base);
  clock.addReading(1_000_010, 0, 20);
  assert.equal(clock.now().getTime(), 1_000_000, "halfway between request and response");
  base = 500;
  assert.equal(clock.now().getTime(), 1_000_500);
  clock.addReading(1_000_400, 100, 9_000); // the remote time was read at an unknown moment in between
  assert.equal(clock.offsetMs, 1_000_000, "a slow response within its bounds changes nothing");
  clock.addReading(1_003_000, 500, 520);
  assert.equal(clock.offsetMs, 1_002_480, "a reading outside of the offset changes it to the nearest bound");
  clock.addReading(1_003_000_000, 500, 501, { resolutionMs: 1_000 });
  assert.equal(clock.offsetMs, 1_002_999_499);
});
