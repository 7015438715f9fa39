import assert from "node:assert/strict";
import { accepted } from "../../support/outcomes.ts";
import { markVersion } from "../../../domain/operations/deploy_marks.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { VERSION } from "../../../infra/version.ts";
import { setupShared } from "../../support/setup.ts";
import { assertHas, refusal } from "../jobs/job_calls.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const MARKS = "/api/v1/operations/marks";
const EVERYTHING = "ffffffff-ffff-ffff-ffff-ffffffffffff";

Deno.test("the first start of a version makes one mark, later starts none", async () => {
  await markVersion(t.steward.platform);
  const { body } = await t.systemAdmin.get(MARKS);
  const ofVersion = body.items.filter(({ version }: { version: string }) => version === VERSION);
  assert.equal(ofVersion.length, 1);
  assertHas(ofVersion[0], { label: `Steward ${VERSION}`, createdBy: null });
});

Deno.test("a mark compares the hours around it in the scope that is asked for, without its own hour", async () => {
  const tenantId = await t.tenant();
  const day = new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 11);
  const time = (hour: number) => `${day}${String(hour).padStart(2, "0")}:00:00.000Z`;
  const at = `${day}12:40:00Z`;
  const mark = await accepted(t.systemAdmin.post(MARKS, { label: "Release 7", at }), 201);
  const row = (scope: string, hour: number, succeeded: number, failed: number, bucket: number) => {
    const [start, durations] = [time(hour), [bucket, succeeded + failed]];
    return sql`insert into job_type_figures values (${scope}, 'test.deployed', 'hour', ${start}, ${newId()},
      ${succeeded}, ${failed}, 0, 0, 0, '{}', ${durations})`;
  };
  for (const hour of [8, 11]) await row(EVERYTHING, hour, 10, 0, 100);
  await row(EVERYTHING, 7, 500, 500, 150); // too early
  await row(EVERYTHING, 12, 500, 500, 150); // the hour of the mark
  await row(EVERYTHING, 13, 3, 1, 120);
  await row(tenantId, 14, 1, 1, 110);
  const compare = async (query: string) =>
    (await t.systemAdmin.get(`${MARKS}/${mark.id}/comparison?${query}`)).body;
  const all = await compare("hours=4");
  assertHas(all.before, { from: time(8), to: time(12) });
  assertHas(all.after, { from: time(13), to: time(17) });
  const [{ before, after }] = all.types;
  assertHas(before, { succeeded: 20, failed: 0, failureRate: 0 });
  assertHas(after, { succeeded: 3, failed: 1, failureRate: 0.25 });
  assert.ok(after.durationMs.p95 > before.durationMs.p95);
  const [own] = (await compare(`hours=4&tenantId=${tenantId}`)).types;
  assert.deepEqual([own.before, own.after.failureRate], [null, 0.5]);
  const unknown = await t.systemAdmin.get(`${MARKS}/${newId()}/comparison`);
  assert.equal(refusal(unknown), "404 DEPLOY_MARK_NOT_FOUND");
});
