import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

type Actor = Awaited<ReturnType<typeof t.actor>>;
type Found = { totalCount: number; items: { lastError?: string; errorMessage?: string; status?: string }[] };

/** Inserts jobs that failed, one a second before the last hour: `old` first, then 5,000 others. */
async function failMany(actor: Actor): Promise<void> {
  await sql`
    with failed as (
      insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at, created_at,
        completed_at, attempts, max_retries, last_error)
      select uuidv7(make_interval(secs => n - 9000)), ${actor.tenantId}, 'steward.fail', '{}', 'FireAndForget',
        case when n % 2 = 0 then 'Failed' else 'DeadLettered' end::job_status, n % 4, 'default', 'default||',
        now() + interval '1 day', now() + make_interval(secs => n - 9000), case when n % 2 = 1 then now() end, 1, 0,
        case when n < 3 then 'Disk full' else 'Order ' || n || ' failed' end
      from generate_series(1, 5002) n returning *
    )
    insert into dead_letter_jobs (id, job_id, tenant_id, job_type_name, queue, serialized_args, attempts, error_message, failed_at)
    select id, id, tenant_id, job_type_name, queue, serialized_args, attempts, last_error, created_at from failed`;
}

Deno.test("a search in errors covers the last 5,000 failed jobs and dead letters, or all since a given time", async () => {
  const actor = await t.actor();
  await failMany(actor);
  const long = encodeURIComponent(new Date(Date.now() - 86_400_000).toISOString());
  const search = async (path: string) => {
    const { status, body, headers } = await actor.get(`/api/v1/${path}`);
    assert.equal(status, 200, JSON.stringify(body));
    return { ...body as Found, from: headers.get("steward-searched-from"), body };
  };
  for (const [list, from] of [["jobs", "from"], ["dead-letter-jobs", "failedFrom"]]) {
    const limited = await search(`${list}?errorContains=disk`);
    assert.equal(limited.totalCount, 0, list);
    const agoMs = Date.now() - Date.parse(limited.from ?? "");
    assert.ok(agoMs > 8_990_000 && agoMs < 9_100_000, `${list}: ${limited.from}`);
    const all = await search(`${list}?errorContains=disk&${from}=${long}`);
    assert.deepEqual([all.totalCount, all.from], [2, null], list);
    const many = await search(`${list}?errorContains=ORDER&page=2&pageSize=2`);
    assert.equal(many.totalCount, 5_000, list);
    assert.deepEqual(many.items.map((item) => item.lastError ?? item.errorMessage), [
      "Order 5000 failed",
      "Order 4999 failed",
    ]);
    assert.equal((await search(`${list}?errorContains=order&page=4000`)).totalCount, 5_000, list);
  }
  const failed = await search("jobs?errorContains=disk&status=Failed");
  assert.deepEqual([failed.totalCount, failed.from], [1, null], "2,501 jobs are Failed");
  const ordered = await search("jobs?errorContains=order&orderBy=Status&ascending=true&pageSize=1");
  assert.equal(ordered.items[0]?.status, "Failed");
  const byPriority = async (ascending: boolean) =>
    (await search(`jobs?errorContains=order&orderBy=Priority&ascending=${ascending}&pageSize=1`))
      .body.items[0].priority;
  assert.deepEqual([await byPriority(true), await byPriority(false)], ["Low", "Critical"]);
  const counts = await search("jobs/counts?errorContains=order");
  assert.deepEqual(counts.body.statuses, [
    { status: "Failed", count: 2_500 },
    { status: "DeadLettered", count: 2_500 },
  ]);
  assert.ok(counts.from);
  assert.equal((await search("jobs?errorContains=order&status=Succeeded")).totalCount, 0);
  const outsider = await t.actor();
  assert.equal((await outsider.get("/api/v1/jobs?errorContains=order")).body.totalCount, 0);
});

Deno.test("dead letters are counted by type, group and state, retried ones too", async () => {
  const actor = await t.actor();
  await sql`
    insert into dead_letter_jobs (id, job_id, tenant_id, job_type_name, queue, serialized_args, attempts, error_message, retried_at)
    select uuidv7(), uuidv7(), ${actor.tenantId}, 'bench.' || n % 2, 'default', '{}', 1, 'Error ' || chr(65 + n % 3),
      case when n <= 6 then now() end
    from generate_series(1, 18) n`;
  const total = async (query: string) => {
    const { body } = await actor.get(`/api/v1/dead-letter-jobs?pageSize=100&${query}`);
    assert.equal(body.items.length, body.totalCount, query);
    return body.totalCount;
  };
  const totals = async (more: string) => [
    await total(more),
    await total(`${more}&isRetried=false`),
    await total(`${more}&isRetried=true`),
  ];
  assert.deepEqual(await totals(""), [18, 12, 6]);
  assert.deepEqual(await totals("jobTypeName=bench.1"), [9, 6, 3]);
  assert.deepEqual(await totals("errorPattern=Error%20A"), [6, 4, 2]);
  assert.deepEqual(await totals("jobTypeName=bench.1&errorPattern=Error%20A"), [3, 2, 1]);
});
