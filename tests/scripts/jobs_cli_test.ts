import assert from "node:assert/strict";
import { runScript } from "../support/run_script.ts";
import { setup } from "../support/setup.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());
const actor = await t.actor();
const SOME_ID = "0198f1c2-7a3b-7c4d-8e5f-6a7b8c9d0e1f";
const tenant = ["--tenant", actor.tenantId ?? ""];

const run = (script: string, ...args: string[]) =>
  runScript(script, args, {
    permissions: ["--allow-env", "--allow-net", "--allow-read"],
    env: { DATABASE_URL: t.steward.platform.config.DATABASE_URL ?? "" },
  });
const json = async (script: string, ...args: string[]) => {
  const { code, out, err } = await run(script, ...args, "--json");
  assert.equal(code, 0, err);
  return JSON.parse(out);
};

Deno.test("jobs are enqueued, listed, counted and cancelled from the command line", async () => {
  const job = await json("jobs", "enqueue", "steward.echo", '{"a":1}', ...tenant);
  assert.equal(await t.settled(job.id), "Succeeded");
  assert.equal((await actor.get(`/api/v1/jobs/${job.id}`)).body.createdBy, null);
  const late = await json("jobs", "enqueue", "steward.echo", "--at", "2050-01-01T00:00:00Z", ...tenant);
  const listed = await run("jobs", "list", "--status", "scheduled", ...tenant);
  assert.match(listed.out, new RegExp(`^${late.id}  Scheduled`));
  assert.match((await run("jobs", "stats", ...tenant)).out, /^totalJobs +2$/m);
  assert.equal((await json("jobs", "cancel", late.id)).status, "Cancelled");
  const again = await run("jobs", "cancel", late.id);
  assert.deepEqual([again.code, again.err.split(":")[0]], [1, "JOB_ALREADY_CANCELLED"]);
});

Deno.test("dead letters are grouped, retried and purged from the command line", async () => {
  const job = await json(
    "jobs",
    "enqueue",
    "steward.fail",
    '{"message":"no"}',
    "--max-retries",
    "0",
    ...tenant,
  );
  assert.equal(await t.settled(job.id), "DeadLettered");
  const [group] = await json("dead-letters", "groups", ...tenant);
  assert.deepEqual([group.jobTypeName, group.errorPattern, group.count], ["steward.fail", "no", 1]);
  const dry = await json("dead-letters", "retry", "--type", "steward.fail", "--dry-run", ...tenant);
  assert.deepEqual([dry.matched, dry.retried], [1, 0]);
  const done = await json("dead-letters", "retry", "--type", "steward.fail", ...tenant);
  assert.equal(done.retried, 1);
  assert.equal(await t.settled(done.jobIds[0]), "DeadLettered");
  assert.deepEqual(await json("dead-letters", "purge", "--all", ...tenant), { purged: 2 });
});

Deno.test("wrong usage is explained and changes nothing", async () => {
  for (
    const args of [
      ["jobs"],
      ["jobs", "explode"],
      ["jobs", "list", "--limit", "x"],
      ["jobs", "list", "--status", "x"],
      [
        "jobs",
        "list",
        "--tenant",
        "x",
      ],
      ["jobs", "cancel", "x"],
      ["jobs", "enqueue", "steward.echo", "--queue", "a|b"],
      ["jobs", "enqueue", "steward.echo", "--at", "soon"],
      ["jobs", "stats", "all"],
      ["jobs", "cancel", SOME_ID, SOME_ID],
      ["dead-letters", "retry", SOME_ID, SOME_ID],
      ["dead-letters", "retry", SOME_ID, "--dry-run"],
      ["dead-letters", "purge", SOME_ID, "--all"],
      ["dead-letters", "retry"],
      ["dead-letters", "retry", "x"],
      ["dead-letters", "purge"],
    ]
  ) {
    const { code, err } = await run(args[0] ?? "", ...args.slice(1));
    assert.equal(code, 64, args.join(" "));
    assert.match(err, /Usage:/);
  }
  assert.equal((await run("jobs", "--help")).code, 0);
});
