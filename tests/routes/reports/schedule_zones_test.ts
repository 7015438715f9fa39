import assert from "node:assert/strict";
import type { Caller } from "../../../domain/rights/caller.ts";
import { createSchedule } from "../../../domain/reports/schedules/schedule_changes.ts";
import { fireDueSchedules } from "../../../domain/reports/schedules/schedule_runs.ts";
import { has } from "../../support/answers.ts";
import { CSV, SCHEDULES } from "./constants.ts";
import { setupIdleReports } from "./support.ts";

const t = await setupIdleReports();
let now = new Date("2027-03-27T12:00:00Z");
const platform = { ...t.steward.platform, clock: { now: () => now } };
const { sql } = platform;
const actor = await t.actor();
const caller = { ...actor, permissions: new Set<string>(), traceId: null } as unknown as Caller;
/** Creates a schedule at the time of the clock. */
const create = async (cronExpression: string, timeZoneId = "UTC"): Promise<string> => {
  const report = { templateId: "cells", name: "Zones", description: null, format: CSV, parameters: {} };
  const schedule = { ...report, cronExpression, timeZoneId, delivery: null, burst: null };
  return (await createSchedule(platform, caller, schedule)).id;
};

Deno.test("a schedule keeps its local time over both clock changes, in any time zone", async () => {
  const ids = {
    lisbon: await create("0 9 * * *", "Europe/Lisbon"),
    newYork: await create("0 9 * * *", "America/New_York"),
    kolkata: await create("0 9 * * *", "Asia/Kolkata"),
    skipped: await create("30 1 * * *", "Europe/Lisbon"), // 28 March does not have this hour and 31 October has it twice
    utc: await create("0 9 * * *"),
  };
  const nextRuns = async () => {
    const rows = await sql<{ id: string; nextRunAt: Date }[]>`select id, next_run_at from report_schedules`;
    const at = new Map(rows.map((row) => [row.id, row.nextRunAt.toISOString().slice(0, 16)]));
    return Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, at.get(id)]));
  };
  /** Returns how many schedules are fired at a time. */
  const fired = async (at: string) => {
    now = new Date(at);
    const { fired } = await fireDueSchedules(platform);
    await sql`update report_executions set status = 6 where status = 1`; // no worker generates reports here
    return fired;
  };
  assert.deepEqual(await nextRuns(), {
    lisbon: "2027-03-28T08:00",
    newYork: "2027-03-27T13:00",
    kolkata: "2027-03-28T03:30",
    skipped: "2027-03-28T01:00",
    utc: "2027-03-28T09:00",
  });
  assert.equal(await fired("2027-03-28T07:59:59Z"), 3, "all but Lisbon's nine o'clock and UTC's");
  assert.equal(await fired("2027-03-28T08:00:00Z"), 1);
  assert.equal(await fired("2027-03-28T08:00:30Z"), 0, "the same tick never twice");
  has(await nextRuns(), { lisbon: "2027-03-29T08:00", skipped: "2027-03-29T00:30" });
  await fired("2027-10-30T23:00:00Z");
  has(await nextRuns(), { lisbon: "2027-10-31T09:00", skipped: "2027-10-31T00:30" });
  assert.equal(await fired("2027-10-31T00:30:00Z"), 1);
  assert.equal((await nextRuns()).skipped, "2027-11-01T01:30", "the hour that comes twice runs once");
});

Deno.test("a schedule whose time zone no longer exists is paused and gets another ETag", async () => {
  const id = await create("0 9 * * *");
  await sql`update report_schedules set time_zone_id = 'Europe/Atlantis', next_run_at = ${now} where id = ${id}`;
  await fireDueSchedules(platform);
  const { body, headers } = await actor.get(`${SCHEDULES}/${id}`);
  assert.deepEqual([body.isActive, body.nextRunAt, headers.get("etag")], [false, null, '"2"']);
});
