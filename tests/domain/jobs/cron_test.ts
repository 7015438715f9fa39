import assert from "node:assert/strict";
import { nextRun, scheduleMistakes } from "../../../domain/jobs/cron.ts";

/** The next `count` runs after `from`, without seconds. */
function runs(cron: string, zone: string, from: string, count: number): string[] {
  const found: string[] = [];
  for (let after = new Date(from); found.length < count;) {
    const next = nextRun(cron, zone, after);
    assert.ok(next && next > after, "each run is after the previous one");
    found.push(next.toISOString().replace(":00.000Z", "Z"));
    after = next;
  }
  return found;
}

/** In each line: what holds, a cron expression, its zone, a time, and the runs after it. */
const CASES = `
  a skipped time runs at the first instant after the gap | 30 1 * * * | Europe/Lisbon | 2026-03-28T12:00Z | 2026-03-29T01:00Z 2026-03-30T00:30Z
  a time skipped at midnight runs at the first instant after the gap | 15 0 * * * | America/Sao_Paulo | 2018-11-03T12:00Z | 2018-11-04T03:00Z 2018-11-05T02:15Z
  a time in a gap of half an hour runs at the first instant after it | 15 2 * * * | Australia/Lord_Howe | 2026-10-03T00:00Z | 2026-10-03T15:30Z 2026-10-04T15:15Z
  a time on a skipped day runs at the first instant after that day | 0 12 30 12 * | Pacific/Apia | 2011-12-28T12:00Z | 2011-12-30T10:00Z 2012-12-29T22:00Z
  several skipped times lead to one run | */15 2 * * * | Europe/Berlin | 2026-03-28T12:00Z | 2026-03-29T01:00Z 2026-03-30T00:00Z 2026-03-30T00:15Z
  a skipped time and a time at the end of the gap lead to one run | 0 2,3 * * * | Europe/Berlin | 2026-03-28T12:00Z | 2026-03-29T01:00Z 2026-03-30T00:00Z 2026-03-30T01:00Z
  a repeated time runs once, the first time | 30 2 * * * | Europe/Berlin | 2026-10-24T12:00Z | 2026-10-25T00:30Z 2026-10-26T01:30Z
  a time in a repeated half hour runs once | 45 1 * * * | Australia/Lord_Howe | 2026-04-03T16:00Z | 2026-04-04T14:45Z 2026-04-05T15:15Z
  each of several repeated times runs once | */30 2 * * * | Europe/Berlin | 2026-10-24T12:00Z | 2026-10-25T00:00Z 2026-10-25T00:30Z 2026-10-26T01:00Z
  every half hour is every half hour, also in a repeated hour | */30 * * * * | Europe/Berlin | 2026-10-25T00:10Z | 2026-10-25T00:30Z 2026-10-25T01:00Z 2026-10-25T01:30Z 2026-10-25T02:00Z
  every second hour runs in both passes | 15 */2 * * * | Europe/Berlin | 2026-10-24T23:00Z | 2026-10-25T00:15Z 2026-10-25T01:15Z 2026-10-25T03:15Z
  every quarter runs in a repeated half hour | */15 * * * * | Australia/Lord_Howe | 2026-04-04T14:40Z | 2026-04-04T14:45Z 2026-04-04T15:00Z 2026-04-04T15:15Z 2026-04-04T15:30Z
  a start within the second pass goes on in it | */30 * * * * | Europe/Berlin | 2026-10-25T01:10Z | 2026-10-25T01:30Z 2026-10-25T02:00Z
  a zone without daylight saving time | 0 9 * * 1-5 | Asia/Kolkata | 2026-03-27T12:00Z | 2026-03-30T03:30Z 2026-03-31T03:30Z
  a day matches by its day of month or by its day of week | 0 0 13 * 5 | UTC | 2026-03-06T12:00Z | 2026-03-13T00:00Z 2026-03-20T00:00Z
  Sunday is 0 and 7 | 0 0 * * 7 | UTC | 2026-03-06T12:00Z | 2026-03-08T00:00Z
  a run on 29 February waits for a leap year | 0 0 29 2 * | UTC | 2026-03-01T00:00Z | 2028-02-29T00:00Z
`;
for (const line of CASES.trim().split("\n")) {
  const [what = "", cron = "", zone = "", from = "", expected = ""] = line.trim().split(" | ");
  Deno.test(`${what} (${cron}, ${zone})`, () => {
    assert.equal(runs(cron, zone, from, expected.split(" ").length).join(" "), expected);
  });
}

Deno.test("over every clock change of a year, each local minute runs at most once and runs are in order", () => {
  for (const zone of ["Australia/Lord_Howe", "Africa/Casablanca"]) {
    const seen = new Set<string>();
    let after = new Date("2026-01-01T00:00:00Z");
    while (after < new Date("2027-01-01T00:00:00Z")) {
      const next = nextRun("*/20 0-4 * * 7", zone, after);
      assert.ok(next && next > after);
      const instant = Temporal.Instant.fromEpochMilliseconds(next.getTime());
      const localTime = String(instant.toZonedDateTimeISO(zone).toPlainDateTime());
      assert.ok(!seen.has(localTime), `${zone} shows ${localTime} twice`);
      seen.add(localTime);
      after = next;
    }
  }
});

Deno.test("only five fields and IANA time zones are accepted", () => {
  for (const cron of ["* * * * * *", "@hourly", "* * * *", "", "? * * * *", "*/0 * * * *", "a b c d e"]) {
    assert.ok(scheduleMistakes(cron, "UTC").cronExpression, cron);
  }
  const [reason] = scheduleMistakes("* * 32 13 *", "UTC").cronExpression ?? [];
  assert.match(reason ?? "", /expected days from 1 to 31, found 32$/);
  for (const zone of ["", "+01:00", "Mars/Olympus", "UTC+1"]) {
    assert.ok(scheduleMistakes("* * * * *", zone).timeZoneId, zone);
  }
  for (const zone of ["UTC", "Etc/GMT+5", "Europe/Kyiv", "Asia/Calcutta"]) {
    assert.deepEqual(scheduleMistakes("0 0 * * MON-FRI", zone), {}, zone);
  }
});
