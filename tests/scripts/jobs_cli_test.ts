import assert from "node:assert/strict";
import { join } from "node:path";
import {
  removeEmbeddedDatabaseUrl,
  writeEmbeddedDatabaseUrl,
} from "../../infra/embedded/database_address.ts";
import { createTestDatabase } from "../support/cluster.ts";
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

Deno.test("from the shell: what failed, why, and run it again", async () => {
  const args = '{"message":"the provider is down"}';
  const failing = await json("jobs", "enqueue", "steward.fail", args, "--max-retries", "0", ...tenant);
  assert.equal(await t.settled(failing.id), "DeadLettered");
  const listed = await run("jobs", "list", "--status", "DeadLettered", ...tenant);
  assert.match(listed.out, new RegExp(`^${failing.id} +DeadLettered .*the provider is down$`, "m"));
  const shown = await run("jobs", "show", failing.id, ...tenant);
  assert.equal(shown.code, 0, shown.err);
  assert.match(shown.out, /^status +DeadLettered$[^]*^attempt 1 +Failed .*the provider is down$/m);
  const [letter] = await json("dead-letters", "list", ...tenant);
  assert.equal(letter.jobId, failing.id);
  const details = await run("dead-letters", "show", letter.id, ...tenant);
  assert.match(details.out, /^errorMessage +the provider is down$/m);
  const again = await json("jobs", "retry", failing.id, ...tenant);
  assert.notEqual(again.id, failing.id);
  assert.equal(await t.settled(again.id), "DeadLettered");
  const refused = await run("jobs", "retry", failing.id, ...tenant);
  assert.deepEqual([refused.code, refused.err.split(":")[0]], [1, "JOB_DEADLETTER_ALREADY_RETRIED"]);
  const done = await json("jobs", "enqueue", "steward.echo", ...tenant);
  assert.equal(await t.settled(done.id), "Succeeded");
  const repeated = await json("jobs", "retry", done.id, ...tenant);
  assert.equal(await t.settled(repeated.id), "Succeeded");
  const elsewhere = (await t.actor()).tenantId ?? "";
  assert.equal((await run("jobs", "show", done.id, "--tenant", elsewhere)).code, 1, "another tenant's job");
});

Deno.test("secrets in arguments are not printed", async () => {
  const password = "hunter2secret";
  const { id } = await json(
    "jobs",
    "enqueue",
    "steward.http-request",
    JSON.stringify({ url: `https://ann:${password}@x.test/` }),
    ...tenant,
  );
  const { out } = await run("jobs", "show", id, ...tenant);
  assert.ok(!out.includes(password));
});

Deno.test("scripts find the embedded database of the running development service, and never in production", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "steward-cli-" });
  const url = t.steward.platform.config.DATABASE_URL ?? "";
  const ask = (env: Record<string, string>) =>
    runScript("jobs", ["stats"], { env: { DATABASE_URL: "", DATA_DIR: dataDir, ...env } });
  const none = await ask({});
  assert.equal(none.code, 64);
  assert.match(none.err, /DATABASE_URL is missing, and no `deno task dev` runs/);
  await writeEmbeddedDatabaseUrl(dataDir, url);
  assert.equal((await Deno.stat(join(dataDir, "embedded-database.json"))).mode! & 0o077, 0);
  assert.equal((await ask({})).code, 0);
  assert.equal((await ask({ STEWARD_ENV: "production" })).code, 64);
  const empty = await createTestDatabase({ empty: true });
  await writeEmbeddedDatabaseUrl(dataDir, empty);
  assert.match(
    (await ask({})).err,
    /lacks \d+ migrations .*; restart `deno task dev`, which runs migrations$/m,
  );
  assert.match(
    (await ask({ DATABASE_URL: empty })).err,
    /lacks \d+ migrations .*; run `deno task migrate`$/m,
  );
  await removeEmbeddedDatabaseUrl(dataDir);
  assert.equal((await ask({})).code, 64);
  await Deno.remove(dataDir, { recursive: true });
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
      ["jobs", "show"],
      ["jobs", "retry", "x"],
      ["dead-letters", "show"],
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
