import assert from "node:assert/strict";
import { readDataHealth, sampleDatabase } from "../../../domain/operations/data_health.ts";
import { measureUse } from "../../../domain/operations/usage.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { setupShared } from "../../support/setup.ts";
import { browseAt } from "../console/plain_browser.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const month = new Date().toISOString().slice(0, 7);

Deno.test("what a tenant uses is counted by month, and a count stays when its rows are deleted", async () => {
  const admin = await t.actor({ role: "Admin" });
  const tenantId = admin.tenantId ?? "";
  await sql`insert into files (id, tenant_id, profile, file_name, declared_content_type, size_bytes, status, staging_key, upload_expires_at)
    values (${newId()}, ${tenantId}, 'document', 'a.txt', 'text/plain', 1000, 'Pending', ${newId()}, now())`;
  await sql`update files set status = 'Scanning', completed_at = now(), staged_etag = 'x', scan_due_at = now() + interval '1 day' where tenant_id = ${tenantId}`;
  await sql`insert into notification_counts (tenant_key, day, channel, status, shard, count)
    values (${tenantId}, (now() at time zone 'UTC')::date, 'Email', 'Sent', 0, 3)`;
  await sql`insert into job_throughput (scope, grain, start, succeeded, failed, abandoned)
    values (${tenantId}, 'hour', date_trunc('hour', now()), 5, 1, 0)`;
  await measureUse(sql);
  await sql`delete from notification_counts where tenant_key = ${tenantId}`;
  await sql`insert into usage_months (month, tenant_key, storage_bytes)
    values ((date_trunc('month', now() at time zone 'UTC') - interval '1 month')::date, ${tenantId}, 400)`;
  await measureUse(sql);
  const path = `/api/v1/operations/usage?month=${month}`;
  const { body } = await admin.get(path);
  const [{ storageBytes, mails, jobs, reports, previous, ...row }] = body.items;
  assert.deepEqual([body.totalCount, row.tenantId, row.month], [1, tenantId, month], "only its own tenant");
  assert.deepEqual([storageBytes, mails, jobs, reports, previous.storageBytes], [1000, 3, 6, 0, 400]);
  const outsider = await t.actor({ role: "Admin" });
  assert.deepEqual((await outsider.get(`${path}&tenantId=${tenantId}`)).body.items, []);
  const all = await t.systemAdmin.get(`${path}&tenantId=${tenantId}`);
  assert.equal(all.body.items[0].storageBytes, 1000);
  const browser = await browseAt(t, admin, "tenants");
  (await browser.follow("Usage")).shows("1,000 B", "+600 B");
});

Deno.test("the state of the database names its largest tables, growth and limits", async () => {
  await sampleDatabase(sql);
  await sql`insert into database_samples (day, bytes, tables)
    select day - 10, bytes - 1000000, tables from database_samples`;
  const health = await readDataHealth(t.steward.platform);
  assert.ok((health.growthPerDay ?? 0) >= 100_000);
  const rule = { name: "Disk", metric: "DatabaseGigabytes", threshold: 100 };
  await t.systemAdmin.post("/api/v1/alert-rules", rule);
  const { body } = await t.systemAdmin.get("/api/v1/operations/data-health");
  const [database] = body.limits;
  assert.equal(database.limit, 100_000_000_000);
  assert.ok(database.fullInDays > 0);
  assert.ok(body.tables.some(({ name }: { name: string }) => name === "users"));
  const browser = await browseAt(t, t.systemAdmin, "workers");
  (await browser.follow("Database")).shows("What will be full when", "Tables, largest first");
});
