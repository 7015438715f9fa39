import assert from "node:assert/strict";
import { join } from "node:path";
import {
  removeEmbeddedDatabaseUrl,
  writeEmbeddedDatabaseUrl,
} from "../../infra/embedded/database_address.ts";
import { createTestDatabase } from "../support/cluster.ts";
import { runScript } from "../support/run_script.ts";
import { setupShared } from "../support/setup.ts";

const t = await setupShared();
const actor = await t.actor();
const SOME_ID = "0198f1c2-7a3b-7c4d-8e5f-6a7b8c9d0e1f";
const tenant = ["--tenant", actor.tenantId ?? ""];
const env = { DATABASE_URL: t.steward.platform.config.DATABASE_URL ?? "" };

const run = (script: string, ...args: string[]) => runScript(script, args, { env });
const json = async (script: string, ...args: string[]) => {
  const { code, out, err } = await run(script, ...args, "--json");
  assert.equal(code, 0, err);
  return JSON.parse(out);
};
const failed = async (message: string): Promise<string> => {
  const args = JSON.stringify({ message });
  const { id } = await json("jobs", "enqueue", "steward.fail", args, "--max-retries", "0", ...tenant);
  assert.equal(await t.settled(id), "DeadLettered");
  return id;
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
  const elsewhere = (await t.actor()).tenantId ?? "";
  assert.equal((await run("jobs", "show", job.id, "--tenant", elsewhere)).code, 1, "another tenant's job");
});

Deno.test("from the shell: what failed, why, and run it again, one by one and in groups", async () => {
  const id = await failed("the provider is down");
  const listed = await run("jobs", "list", "--status", "DeadLettered", ...tenant);
  assert.match(listed.out, new RegExp(`^${id} +DeadLettered .*the provider is down$`, "m"));
  const shown = await run("jobs", "show", id, ...tenant);
  assert.match(shown.out, /^status +DeadLettered$[^]*^attempt 1 +Failed .*the provider is down$/m);
  const [letter] = await json("dead-letters", "list", ...tenant);
  assert.equal(letter.jobId, id);
  const details = await run("dead-letters", "show", letter.id, ...tenant);
  assert.match(details.out, /^errorMessage +the provider is down$/m);
  const again = await json("jobs", "retry", id, ...tenant);
  assert.equal(await t.settled(again.id), "DeadLettered");
  const refused = await run("jobs", "retry", id, ...tenant);
  assert.deepEqual([refused.code, refused.err.split(":")[0]], [1, "JOB_DEADLETTER_ALREADY_RETRIED"]);

  const [{ jobTypeName, errorPattern, count }] = await json("dead-letters", "groups", ...tenant);
  assert.deepEqual([jobTypeName, errorPattern, count], ["steward.fail", "the provider is down", 1]);
  const dry = await json("dead-letters", "retry", "--type", "steward.fail", "--dry-run", ...tenant);
  assert.deepEqual([dry.matched, dry.retried], [1, 0]);
  const done = await json("dead-letters", "retry", "--type", "steward.fail", ...tenant);
  assert.equal(done.retried, 1);
  assert.equal(await t.settled(done.jobIds[0]), "DeadLettered");
  assert.deepEqual(await json("dead-letters", "purge", "--all", ...tenant), { purged: 3 });
});

Deno.test("a job that succeeded is run again, and secrets in arguments are not printed", async () => {
  const password = "hunter2secret";
  const url = `https://ann:${password}@x.test/`;
  const { id } = await json("jobs", "enqueue", "steward.http-request", JSON.stringify({ url }), ...tenant);
  const { code, out } = await run("jobs", "show", id, ...tenant);
  assert.deepEqual([code, out.includes(password)], [0, false]);
  const done = await json("jobs", "enqueue", "steward.echo", ...tenant);
  assert.equal(await t.settled(done.id), "Succeeded");
  assert.equal(await t.settled((await json("jobs", "retry", done.id, ...tenant)).id), "Succeeded");
});

Deno.test("scripts find the embedded database of the running development service, and never in production", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "steward-cli-" });
  const ask = (more: Record<string, string>) =>
    runScript("jobs", ["stats"], { env: { DATABASE_URL: "", DATA_DIR: dataDir, ...more } });
  const none = await ask({});
  assert.equal(none.code, 64);
  assert.match(none.err, /DATABASE_URL is missing, and no `deno task dev` runs/);
  await writeEmbeddedDatabaseUrl(dataDir, env.DATABASE_URL);
  assert.equal((await Deno.stat(join(dataDir, "embedded-database.json"))).mode! & 0o077, 0);
  assert.equal((await ask({})).code, 0);
  assert.equal((await ask({ STEWARD_ENV: "production" })).code, 64);
  const empty = await createTestDatabase({ empty: true });
  await writeEmbeddedDatabaseUrl(dataDir, empty);
  const lacks = (fix: string) =>
    new RegExp(`lacks \\d+ migrations \\(0400_schema\\.sql … mails\\); ${fix}$`, "m");
  assert.match((await ask({})).err, lacks("restart `deno task dev`, which runs migrations"));
  assert.match((await ask({ DATABASE_URL: empty })).err, lacks("run `deno task migrate`"));
  await removeEmbeddedDatabaseUrl(dataDir);
  assert.equal((await ask({})).code, 64);
  await Deno.remove(dataDir, { recursive: true });
});

Deno.test("wrong usage is explained and changes nothing", async () => {
  const wrong = [
    "jobs",
    "jobs explode",
    "jobs list --limit x",
    "jobs list --status x",
    "jobs list --tenant x",
    "jobs cancel x",
    "jobs show",
    "jobs enqueue",
    "jobs enqueue steward.echo --queue a|b",
    "jobs enqueue steward.echo --at soon",
    `jobs cancel ${SOME_ID} ${SOME_ID}`,
    `dead-letters retry ${SOME_ID} --dry-run`,
    "dead-letters retry",
    "dead-letters purge",
    "dead-letters purge --all --older-than 1",
  ];
  for (const line of wrong) {
    const [script = "", ...args] = line.split(" ");
    const { code, err } = await run(script, ...args);
    assert.equal(code, 64, line);
    assert.match(err, /Usage:/);
  }
});
