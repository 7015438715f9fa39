import { startEmbeddedPostgres } from "./infra/embedded/postgres.ts";
import { migrate } from "./infra/postgres/migrate.ts";
import { connectPostgres } from "./infra/postgres/postgres.ts";
import { listJobs } from "./domain/jobs/job_list.ts";
import { readJobStats } from "./domain/jobs/stats.ts";
import { foldCounts } from "./domain/jobs/counts.ts";
const dir = await Deno.makeTempDir();
const pg = await startEmbeddedPostgres({ dir: dir + "/pg", password: "x", settings: { max_connections: "100", fsync: "off" } });
const m = connectPostgres(pg.url, { max: 1 }); await migrate(m); await m.end();
const sql = connectPostgres(pg.url, { max: 8 });
const tenants = Array.from({ length: 5 }, () => crypto.randomUUID());
let t = performance.now();
for (let k = 0; k < 10; k++) await sql`
  insert into jobs (id, created_at, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at, scheduled_at, started_at, completed_at, attempts, max_retries)
  select (lpad(to_hex(${Date.now() - 1e9 + k * 1e8}::bigint + n*900), 12, '0') || '7' || substr(md5(random()::text),1,3) || '8' || substr(md5(random()::text),1,15))::uuid, now(),
   (${tenants}::uuid[])[1 + n % 5], case when n % 10 = 0 then 'steward.sleep' else 'steward.echo' end, '{"a":1}', 'FireAndForget',
   (case when n % 2000 = 0 then 'Failed' when n % 1999 = 0 then 'DeadLettered' when n % 997 = 0 then 'Cancelled' when n % 9973 = 0 then 'Enqueued' else 'Succeeded' end)::job_status,
   n % 4, case when n % 5003 = 0 then 'rare' when n % 7 = 0 then 'mail' else 'default' end, 'default||', now(), null, now() - random() * interval '10 days', now() - random()* interval '10 days', 1, 3
  from generate_series(1, 100000) n`;
console.log("filled", performance.now() - t); await foldCounts(sql, { always: true });
await sql`vacuum analyze jobs`;
const own = { everything: false as const, tenantId: tenants[0]! }, all = { everything: true as const };
const base = { page: 1, pageSize: 20, orderBy: "CreatedAt" as const, ascending: false };
async function time(name: string, f: () => Promise<{ totalCount?: number }>) {
  const ms: number[] = []; let r; for (let i = 0; i < 12; i++) { const t = performance.now(); r = await f(); ms.push(performance.now() - t); }
  ms.sort((a, b) => a - b); console.log(name.padEnd(40), "p50", ms[6]!.toFixed(1), "max", ms[11]!.toFixed(1), "n", (r as any).totalCount ?? (r as any).totalJobs);
}
for (const [who, reach] of [["own", own], ["all", all]] as const) {
  await time(who + " stats", () => readJobStats(sql, reach));
  await time(who + " newest", () => listJobs(sql, reach, base));
  await time(who + " oldest", () => listJobs(sql, reach, { ...base, ascending: true }));
  await time(who + " Succeeded", () => listJobs(sql, reach, { ...base, status: "Succeeded" }));
  await time(who + " Failed", () => listJobs(sql, reach, { ...base, status: "Failed" }));
  await time(who + " Enqueued", () => listJobs(sql, reach, { ...base, status: "Enqueued" }));
  await time(who + " Processing(0)", () => listJobs(sql, reach, { ...base, status: "Processing" }));
  await time(who + " queue mail", () => listJobs(sql, reach, { ...base, queue: "mail" }));
  await time(who + " queue rare", () => listJobs(sql, reach, { ...base, queue: "rare" }));
  await time(who + " Succeeded+search sleep+prio", () => listJobs(sql, reach, { ...base, status: "Succeeded", searchTerm: "sleep", priority: 2 }));
  await time(who + " page 1000", () => listJobs(sql, reach, { ...base, page: 1000 }));
  for (const orderBy of ["ScheduledAt", "StartedAt", "CompletedAt", "Priority", "Status"] as const) await time(who + " by " + orderBy, () => listJobs(sql, reach, { ...base, orderBy }));
  await time(who + " Failed by CompletedAt", () => listJobs(sql, reach, { ...base, status: "Failed", orderBy: "CompletedAt" }));
}
await sql.end(); await pg.stop(); await Deno.remove(dir, { recursive: true });
