import assert from "node:assert/strict";
import fc from "fast-check";
import { clockTime, minutesOf, quietUntil } from "../../../domain/notifications/quiet_hours.ts";

/** The end of the quiet hours that contain `now`; null if `now` is not quiet. Times are local times. */
function end(timeZoneId: string, from: string, to: string, now: string): string | null {
  const quiet = { timeZoneId, from: minutesOf(from) ?? NaN, to: minutesOf(to) ?? NaN };
  return quietUntil(quiet, new Date(now))?.toISOString().slice(0, 16) ?? null;
}

Deno.test("quiet hours within a day and past midnight include their first minute and exclude their last", () => {
  assert.equal(end("UTC", "13:00", "14:30", "2026-05-04T12:59:59Z"), null);
  assert.equal(end("UTC", "13:00", "14:30", "2026-05-04T13:00:00Z"), "2026-05-04T14:30");
  assert.equal(end("UTC", "13:00", "14:30", "2026-05-04T14:30:00Z"), null);
  assert.equal(end("UTC", "22:00", "07:00", "2026-05-04T21:59:00Z"), null);
  assert.equal(end("UTC", "22:00", "07:00", "2026-05-04T22:00:00Z"), "2026-05-05T07:00");
  assert.equal(end("UTC", "22:00", "07:00", "2026-05-05T06:59:59Z"), "2026-05-05T07:00");
  assert.equal(end("UTC", "22:00", "07:00", "2026-05-05T07:00:00Z"), null);
  assert.equal(end("UTC", "22:00", "00:00", "2026-05-04T23:30:00Z"), "2026-05-05T00:00");
});

Deno.test("the user's time zone counts, wherever the user is", () => {
  assert.equal(end("Asia/Kathmandu", "22:00", "07:00", "2026-05-04T16:20:00Z"), "2026-05-05T01:15");
  assert.equal(end("America/New_York", "22:00", "07:00", "2026-05-04T10:59:00Z"), "2026-05-04T11:00");
  assert.equal(end("Pacific/Kiritimati", "22:00", "07:00", "2026-05-04T09:00:00Z"), "2026-05-04T17:00");
});

Deno.test("in a night with a clock change, quiet hours end at the local time", () => {
  // Lisbon: 01:00 becomes 02:00 on 29 March, and 02:00 becomes 01:00 on 25 October
  assert.equal(end("Europe/Lisbon", "22:00", "07:00", "2026-03-28T23:00:00Z"), "2026-03-29T06:00");
  assert.equal(end("Europe/Lisbon", "22:00", "07:00", "2026-10-24T22:00:00Z"), "2026-10-25T07:00");
});

Deno.test("an end that the clocks skip is the end of the gap", () => {
  assert.equal(end("Europe/Lisbon", "22:00", "01:30", "2026-03-29T00:30:00Z"), "2026-03-29T01:00");
  assert.equal(end("America/New_York", "23:00", "02:30", "2026-03-08T05:00:00Z"), "2026-03-08T07:00");
  // half an hour forward on Lord Howe Island
  assert.equal(end("Australia/Lord_Howe", "22:00", "02:15", "2026-10-03T15:00:00Z"), "2026-10-03T15:30");
});

Deno.test("an end that occurs twice is the first one that is still ahead", () => {
  assert.equal(end("Europe/Lisbon", "22:00", "01:30", "2026-10-25T00:10:00Z"), "2026-10-25T00:30");
  assert.equal(end("Europe/Lisbon", "22:00", "01:30", "2026-10-25T00:30:00Z"), null);
  // the clocks show 01:10 again, so it is quiet again until they show 01:30 again
  assert.equal(end("Europe/Lisbon", "22:00", "01:30", "2026-10-25T01:10:00Z"), "2026-10-25T01:30");
});

Deno.test("the end is always in the future, at most a day and an hour away", () => {
  const minute = fc.integer({ min: 0, max: 1439 });
  const zones = "UTC Europe/Lisbon America/New_York Australia/Lord_Howe Asia/Tehran";
  const zone = fc.constantFrom(...zones.split(" "));
  const now = fc.date({ min: new Date("2026-01-01"), max: new Date("2027-01-01"), noInvalidDate: true });
  fc.assert(
    fc.property(zone, minute, minute, now, (timeZoneId, from, to, at) => {
      fc.pre(from !== to);
      const until = quietUntil({ timeZoneId, from, to }, at);
      if (until === null) return;
      const ahead = until.getTime() - at.getTime();
      assert.ok(ahead > 0 && ahead <= 25 * 3_600_000, `${ahead} ms ahead`);
    }),
    { numRuns: 300 },
  );
});

Deno.test("times are parsed and printed as HH:MM, and other texts are rejected", () => {
  for (const text of ["00:00", "07:05", "23:59"]) assert.equal(clockTime(minutesOf(text) ?? -1), text);
  for (const text of ["24:00", "7:00", "07:60", "07:00:00", "", "ab:cd", "-1:00", "07:00 "]) {
    assert.equal(minutesOf(text), null, text);
  }
});
