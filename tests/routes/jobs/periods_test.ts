import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { periodOf } from "../../../routes/console/components/date_inputs.ts";
import type { Visit } from "../../../routes/console/shared/page.ts";
import { setupShared } from "../../support/setup.ts";
import { enqueueJob, JOBS } from "./job_calls.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

Deno.test("jobs sorted by duration begin with the slowest of the period, or the fastest; unfinished ones come last", async () => {
  const actor = await t.actor();
  const ids: string[] = [];
  for (const seconds of [5, null, 20, 1]) {
    const id = await enqueueJob(actor, "steward.echo", {}, { queue: "durations" });
    await t.settled(id);
    await sql`update jobs set completed_at = started_at + make_interval(secs => ${seconds}::int) where id = ${id}`;
    ids.push(id);
  }
  const [middle, unfinished, slowest, fastest] = ids;
  const listed = async (query: string) =>
    (await actor.get(`${JOBS}?orderBy=Duration&queue=durations&${query}`)).body.items.map((
      { id }: { id: string },
    ) => id);
  assert.deepEqual(await listed("from=2020-01-01"), [slowest, middle, fastest, unfinished]);
  assert.deepEqual(await listed("ascending=true"), [fastest, middle, slowest, unfinished]);
});

Deno.test("the figures of a job type are those of a period: by minute, hour or day", async () => {
  const now = Date.now();
  const row = (grain: string, at: number, succeeded: number) =>
    sql`
    insert into job_type_figures values ('ffffffff-ffff-ffff-ffff-ffffffffffff', 'steward.echo', ${grain},
      date_trunc(${grain}, ${new Date(
      at,
    )}::timestamptz, 'UTC'), ${newId()}, ${succeeded}, 0, 0, 0, 0, '{}', '{}')`;
  await row("hour", now - 30 * 3_600_000, 7_000);
  await row("hour", now - 9 * 86_400_000, 90_000);
  const read = async (from: number, to?: number) => {
    const query = `from=${new Date(from).toISOString()}${to ? `&to=${new Date(to).toISOString()}` : ""}`;
    const { body } = await t.systemAdmin.get(`${JOBS}/types/steward.echo/stats?${query}`);
    return [body.intervalSeconds, Math.floor(body.total.succeeded / 1_000), body.window];
  };
  assert.deepEqual(await read(now - 3_600_000), [60, 0, null]);
  assert.deepEqual(await read(now - 40 * 3_600_000, now - 20 * 3_600_000), [3_600, 7, null]);
  assert.deepEqual(await read(now - 90 * 86_400_000), [86_400, 97, null]);
});

Deno.test("a named period is that of the viewer's zone, also on the day the clocks change", () => {
  // Sunday; in Lisbon the clocks went back at 02:00
  const v = { now: new Date("2026-10-26T00:30:00Z"), timeZone: "Europe/Lisbon" };
  const of = (query: string) => {
    const { fromDate, toDate } = periodOf({ ...v, query: new URLSearchParams(query) } as Visit);
    return [fromDate ?? null, toDate ?? null];
  };
  assert.deepEqual(of("range=hour"), ["2026-10-25T23:30:00Z", null]);
  assert.deepEqual(of("range=today&from=2020-01-01"), ["2026-10-26T00:00:00Z", null]);
  assert.deepEqual(of("range=yesterday"), ["2026-10-24T23:00:00Z", "2026-10-25T23:59:59.999Z"]);
  assert.deepEqual(of("range=week"), ["2026-10-26T00:00:00Z", null]);
  assert.deepEqual(of("from=2026-10-25&to=2026-10-25"), of("range=yesterday"));
});
