import assert from "node:assert/strict";
import { connectPostgres } from "../../../infra/postgres/postgres.ts";
import { RemoteClock } from "../../../infra/clock.ts";
import { readTime } from "../../../infra/postgres/timestamps.ts";
import { createTestDatabase } from "../../support/cluster.ts";

Deno.test("times of every year are read from the database as they were written, in every time zone", async () => {
  const sql = connectPostgres(await createTestDatabase(), { max: 1 });
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
  try {
    for (const zone of ["UTC", "Europe/Lisbon", "Asia/Kolkata", "America/St_Johns"]) {
      await sql.unsafe(`set time zone '${zone}'`);
      for (const instant of instants) {
        const [row] = await sql`select ${new Date(
          instant,
        )}::timestamptz as one, array[${instant}::timestamptz] as many`;
        assert.equal(row?.one.toISOString(), instant, zone);
        assert.equal(row?.many[0].toISOString(), instant, zone);
      }
    }
  } finally {
    await sql.end();
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
