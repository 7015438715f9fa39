import assert from "node:assert/strict";
import { referencesOf } from "../../../domain/records/define_record.ts";
import { applications, RECORDS } from "../../../domain/records/records.ts";
import { connectPostgres, transact } from "../../../infra/postgres/postgres.ts";
import { requireKeysOfReferences } from "../../../infra/postgres/tenant_keys.ts";
import { pluck } from "../../support/answers.ts";
import { countLockWaits } from "../../support/lock_waits.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { conformsToRecordContract } from "./conformance.ts";

const t = await setupShared();

conformsToRecordContract(applications, () => t);

Deno.test("the tables of records have a foreign key with the tenant for each reference", async () => {
  await requireKeysOfReferences(t.steward.platform.sql, RECORDS.flatMap(referencesOf));
});

Deno.test("a code is unique in any case, and that of a deleted application is free again", async () => {
  const manager = await t.actor({ permissions: ["manage:applications"] });
  const make = (code: string) => manager.post("/api/v1/applications", { code, name: code });
  const { id } = await accepted(make("Billing"));
  await refused("409 APPLICATION_ALREADY_EXISTS", make("BILLING"));
  await manager.delete(`/api/v1/applications/${id}`);
  await accepted(make("billing"));
});

Deno.test("two creations of many records in opposite orders do not deadlock: one waits for the other", async () => {
  const manager = await t.actor({ permissions: ["manage:applications"] });
  const items = ["a", "b", "c"].map((code) => ({ code, name: code }));
  const createAll = (given: unknown[]) =>
    accepted(manager.post("/api/v1/applications/bulk", { items: given, continueOnError: true }));
  const holder = connectPostgres(t.steward.platform.config.DATABASE_URL ?? "", { max: 1 });
  const { answers } = await transact(holder, async (tx) => {
    await tx`insert into applications (id, tenant_id, code, name)
      values (${crypto.randomUUID()}, ${manager.tenantId}, 'b', 'held')`;
    const answers: Promise<{ succeeded: number }>[] = [];
    for (const given of [items, items.toReversed()]) {
      answers.push(createAll(given));
      await until(() => countLockWaits(tx), (waiting) => waiting === answers.length, { what: "a lock wait" });
    }
    assert.equal(await countLockWaits(tx, "advisory"), 1);
    return { answers };
  }).finally(() => holder.end());
  assert.deepEqual((await Promise.all(answers)).map(({ succeeded }) => succeeded), [2, 0]);
});

Deno.test("application usage is an operation response with the users that name each application", async () => {
  const admin = await t.actor({ permissions: ["manage:applications", "read:users"] });
  await admin.post("/api/v1/applications", { code: "crm", name: "CRM" });
  await admin.post("/api/v1/applications", { code: "wiki", name: "Wiki" });
  const { sql } = t.steward.platform;
  await sql`update users set app_ids = array['crm', 'unknown'] where id = ${admin.userId}`;
  const answer = await admin.get("/api/v1/applications/usage?pageSize=2");
  assert.equal(answer.status, 200);
  const { success, data, meta, message } = answer.body;
  assert.deepEqual([success, message], [true, null]);
  assert.deepEqual(pluck(data, "code", "userCount"), [["crm", 1], ["wiki", 0]]);
  assert.deepEqual([meta.totalCount, meta.sortBy, meta.sortDirection], [2, "code", "Ascending"]);
});

Deno.test("settings of 100,000 characters without a space are saved; the address at their end is kept apart", async () => {
  const manager = await t.actor({ permissions: ["manage:settings"] });
  const value = `${"x".repeat(99_979)} ana@personal.example`;
  const items = Array.from({ length: 10 }, (_, n) => ({ key: `long-${n}`, value }));
  const { results } = await accepted(manager.post("/api/v1/settings/bulk", { items }));
  const rows = await t.steward.platform.sql`
    select l.after ? 'value' as kept, v.after ->> 'value' = ${value} as apart, v.subjects
    from audit_log l join audit_values v on v.audit_id = l.id where l.target_id = ${results[9].id}`;
  assert.deepEqual([...rows], [{ kept: false, apart: true, subjects: ["ana@personal.example"] }]);
});
