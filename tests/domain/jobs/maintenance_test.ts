// Maintenance jobs with a backlog, tiny batches and a short budget, run by the service's own worker.
import assert from "node:assert/strict";
import { wholeMetricsPage } from "../../support/metrics.ts";
import { setupFile } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const ROWS = 600;
const t = await setupFile({ MAINTENANCE_BATCH: "50", MAINTENANCE_BUDGET_MS: "10" });
const { sql } = t;
const { userId } = t.systemAdmin;
// Their own schedules, every ten minutes, would prune before the test counts. A paused job can be triggered.
await sql`update recurring_jobs set is_paused = true, next_run_at = null where job_id like 'steward.prune-%'`;
const operator = await t.actor({ role: "SystemAdmin", global: true });

interface Run {
  id: string;
  status: string;
}

/** Each run of a job stores its progress once. */
async function versionOf(name: string): Promise<number> {
  const [row] = await sql<{ version: number }[]>`
    select version from maintenance_works where job_type_name = ${name}`;
  return row?.version ?? 0;
}

/** Starts a maintenance job as its schedule does. Returns its output, and how many of its runs stopped with rows left. */
async function run(name: string): Promise<{ output: Record<string, number>; postponed: number }> {
  const before = await versionOf(name);
  const { status, body } = await operator.post(`/api/v1/recurring-jobs/${name}/trigger`);
  assert.ok(status < 300, JSON.stringify(body));
  const runs = async (): Promise<Run[]> => (await operator.get(`/api/v1/recurring-jobs/${name}/runs`)).body;
  const [newest] = await until(runs, ([first]) => first?.status === "Succeeded", { withinMs: 60_000 });
  const { items } = (await operator.get(`/api/v1/jobs/${newest?.id}/executions?pageSize=100`)).body;
  const ended = items.find(({ output }: { output: string | null }) => output !== null);
  return { output: JSON.parse(ended.output), postponed: await versionOf(name) - before - 1 };
}

async function lagOf(name: string): Promise<number> {
  const page = await wholeMetricsPage(t.url);
  const line = page.split("\n").find((each) =>
    each.startsWith(`steward_maintenance_lag_seconds{work="${name}"}`)
  );
  return Number(line?.split(" ").at(-1));
}

const count = async (table: string) =>
  (await sql<{ n: number }[]>`select count(*)::int as n from ${sql(table)}`)[0]?.n;

Deno.test("a backlog of sign-ins is pruned in several runs; each kind of row has its turn", async () => {
  await sql`insert into password_resets (token_hash, user_id, expires_at)
    select sha256(n::text::bytea), ${userId}, now() from generate_series(1, ${ROWS}) n`;
  await sql`insert into oidc_flows (state_hash, browser_hash, provider, nonce, code_verifier, is_global, expires_at)
    select sha256(n::text::bytea), '', 'x', '', '', false, now() - make_interval(secs => n) from generate_series(1, ${ROWS}) n`;
  const kept = await sql`insert into password_resets (token_hash, user_id, expires_at)
    values ('kept', ${userId}, now() + interval '1 hour')`;
  const { output, postponed } = await run("steward.prune-sign-in");
  assert.deepEqual([output.passwordResets, output.oidcFlows], [ROWS, ROWS]);
  assert.ok(postponed >= 2, `${postponed} runs stopped with rows left`);
  assert.deepEqual([await count("password_resets"), await count("oidc_flows")], [kept.count, 0]);
});

Deno.test("a pass that cannot finish shows its lag, and goes on where it stopped", async () => {
  await run("steward.prune-idempotency-keys");
  await sql`update maintenance_works set due_at = now() - interval '2 hours',
      progress = '{"pruned": {"rows": 40, "after": null, "isDone": false}}'
    where job_type_name = 'steward.prune-idempotency-keys'`;
  const lag = await lagOf("steward.prune-idempotency-keys");
  assert.ok(lag >= 7_200, String(lag));
  assert.equal((await run("steward.prune-idempotency-keys")).output.pruned, 40);
  // The next pass may be due already: they are ten minutes apart.
  assert.ok(await lagOf("steward.prune-idempotency-keys") < 600);
});

Deno.test("a kind of row that cannot be deleted does not stop the others, in later passes too", async () => {
  await sql`create function refuse_deletion() returns trigger language plpgsql
    as $$ begin raise exception 'refused by the test'; end $$`;
  await sql`create trigger refuse_deletion before delete on oidc_flows execute function refuse_deletion()`;
  for (const pass of ["first", "second"]) {
    await sql`insert into password_resets (token_hash, user_id, expires_at) values (${pass}, ${userId}, now())`;
    const { body } = await operator.post("/api/v1/recurring-jobs/steward.prune-sign-in/trigger");
    const job = () => operator.get(`/api/v1/jobs/${body.id}`);
    const ended = await until(job, (read) => read.body.completedAt !== null, { withinMs: 30_000 });
    assert.equal(ended.body.status, "DeadLettered");
    assert.equal((await sql`select from password_resets where token_hash = ${pass}`).length, 0, pass);
  }
  await sql`drop trigger refuse_deletion on oidc_flows`;
  await run("steward.prune-sign-in");
});
