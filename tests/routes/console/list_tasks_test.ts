import assert from "node:assert/strict";
import { draftListTask } from "../../../domain/console/list_task.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { newSecret } from "../../../domain/shared/secrets.ts";
import { pluck } from "../../support/answers.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { browse, hiddenOf, type PlainBrowser } from "./plain_browser.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

const WAITING = { jobTypeName: "steward.echo", scheduledAt: "2099-01-01T00:00:00Z" };

/** A job that waits. @returns its id */
const waitingJob = async (owner: Actor): Promise<string> =>
  (await owner.post("/api/v1/jobs", WAITING)).body.id;

/** An administrator whose browser has counted a waiting job to cancel. */
async function counted() {
  const owner = await t.actor({ role: "Admin" });
  const [browser, jobId] = [await browse(t, owner), await waitingJob(owner)];
  return { owner, browser, jobId, task: await count(browser, "jobs", "cancel", jobId) };
}

/** The messages in the inbox about the lists of a user. */
const noticesOf = async (owner: Actor) =>
  (await owner.get(`/api/v1/user-notifications?userId=${owner.userId}&category=lists`)).body.items;

/** Changes the job that takes over a task, while no worker runs it. After a failure of the action there may be two jobs. */
const changeJob = (task: string, row: Record<string, unknown>) =>
  until(async () =>
    (await sql`update jobs set ${sql(row)} where job_type_name = 'steward.list-task'
      and serialized_args like ${`%${idOf(task)}%`} and completed_at is null and worker_id is null`).count
  );

/** Counts rows for an action. @returns the path of the task */
async function count(browser: PlainBrowser, list: string, action: string, ...ids: string[]): Promise<string> {
  const counted = await browser.submit("lists/count", { list, query: "", do: action, id: ids });
  const task = counted.location.replace(/^.*\/console\//, "");
  assert.match(task, /^lists\/tasks\//);
  return task;
}

async function start(browser: PlainBrowser, task: string) {
  return await browser.send(`${task}/start`, hiddenOf((await browser.open(task)).html, `${task}/start`));
}

/** Lets each update of a job, or of another row, fail. @returns a function that ends this */
async function breakUpdates(id: string, table = "jobs", when = "true"): Promise<() => Promise<unknown>> {
  const name = `fail_${newSecret().replaceAll(/\W/g, "").slice(0, 8).toLowerCase()}`;
  await sql.unsafe(`create function ${name}() returns trigger language plpgsql as $$
    begin raise exception 'the disk is full'; end $$`);
  await sql.unsafe(
    `create trigger ${name} before update on ${table} for each row when (old.id = '${id}' and ${when})
    execute function ${name}()`,
  );
  return () => sql.unsafe(`drop function ${name} cascade`);
}

const cancelled = (owner: Actor, jobId: string) =>
  until(() => owner.get(`/api/v1/jobs/${jobId}`), ({ body }) => body.status === "Cancelled");

const idOf = (task: string): string => task.slice("lists/tasks/".length);

Deno.test("an action on a few rows goes on by itself after a failure of the service", async () => {
  const { owner, browser, jobId, task } = await counted();
  const repair = await breakUpdates(jobId);
  await start(browser, task);
  await repair();
  await cancelled(owner, jobId);
  await until(async () => (await browser.open(task)).html.includes("Completed"));
});

Deno.test("an action on a few rows goes on as a job if its process ends before the answer", async () => {
  const { owner, browser, jobId, task } = await counted();
  await start(browser, task);
  // as a process leaves it that ends after the first row
  const left = await waitingJob(owner);
  await sql`update console_list_tasks set status = 'Running', ended_at = null, position = 1, total = 2,
    ids = ${[jobId, left]} where id = ${idOf(task)}`;
  await changeJob(task, { due_at: new Date(), status: "Enqueued" });
  await t.steward.sweep();
  await cancelled(owner, left);
  await until(async () => (await browser.open(task)).html.includes("Completed"));
});

Deno.test("an action on more than 100 rows starts only with their number typed", async () => {
  const { owner, browser } = await counted();
  await owner.post("/api/v1/jobs/batches", { jobs: Array(101).fill(WAITING) });
  const made = await sql<{ id: string }[]>`
    select id from jobs where tenant_id = ${owner.tenantId} and batch_id is not null`;
  const task = await count(browser, "jobs", "cancel", ...made.map(({ id }) => id));
  const fields = hiddenOf((await browser.open(task)).html, `${task}/start`);
  await browser.send(`${task}/start`, fields);
  await browser.send(`${task}/start`, [...fields, ["typed", "100"]]);
  const draft = () => sql`select from console_list_tasks where id = ${idOf(task)} and status = 'Draft'`;
  assert.equal((await draft()).count, 1);
  await browser.send(`${task}/start`, [...fields, ["typed", "101"]]);
  assert.equal((await draft()).count, 0);
});

Deno.test("who started a task is told that its job has failed for the last time", async () => {
  const { owner, browser, jobId, task } = await counted();
  const repair = await breakUpdates(jobId);
  await start(browser, task);
  await changeJob(task, { due_at: new Date(), status: "Enqueued", max_retries: 0 });
  await t.steward.sweep();
  const [notice] = await until(() => noticesOf(owner), ({ length }) => length > 0);
  await repair();
  assert.ok(notice.actionUrl.endsWith(task));
  assert.match((await browser.open(task)).html, /Failed/);
});

Deno.test("a task fails with its job if the worker of the last attempt is lost", async () => {
  const { owner, browser, task } = await counted();
  await start(browser, task);
  // as a process leaves both that ends in the last attempt
  await sql`update console_list_tasks set status = 'Running', ended_at = null, position = 0 where id = ${
    idOf(task)
  }`;
  const lost = { worker_id: newId(), started_at: new Date(), attempts: 5, max_retries: 0, lost_leases: 1 };
  await changeJob(task, { status: "Processing", ...lost });
  await t.steward.sweep();
  assert.match((await browser.open(task)).html, /Failed/);
  const [notice] = await until(() => noticesOf(owner), ({ length }) => length > 0);
  assert.ok(notice.actionUrl.endsWith(task));
});

Deno.test("ticked dead letters are retried or purged, and others stay", async () => {
  const owner = await t.actor({ role: "Admin" });
  const fail = { jobTypeName: "steward.fail", serializedArgs: '{"message":"no luck"}', maxRetries: 0 };
  for (let n = 0; n < 3; n++) await t.settled((await owner.post("/api/v1/jobs", fail)).body.id);
  const letters: string[] = pluck((await owner.get("/api/v1/dead-letter-jobs")).body.items, "id");
  const browser = await browse(t, owner);
  const list = "dead-letters/list";
  const [retried = "", purged = "", kept = ""] = letters;
  await start(browser, await count(browser, list, "retry", retried));
  await start(browser, await count(browser, list, "purge", purged));
  const read = (id: string) => owner.get(`/api/v1/dead-letter-jobs/${id}`);
  assert.notEqual((await read(retried)).body.retriedJobId, null);
  assert.equal((await read(purged)).status, 404);
  assert.equal((await read(kept)).body.retriedJobId, null);
  const again = await browser.submit("lists/count", { list, query: "", do: "purge", id: retried });
  assert.ok(again.location.endsWith(list), "a dead letter that was retried cannot be purged");
});

/** A task of a user that is not started. @returns its id */
const draft = ({ userId, tenantId }: Actor, ids: string[]): Promise<string> =>
  draftListTask(sql, {
    userId,
    sessionId: newId(),
    tenantId,
    securityVersion: 1,
    kind: "Action",
    list: "jobs",
    query: "",
    action: "cancel",
    locale: "en",
    timeZone: "UTC",
    total: ids.length,
    ids,
  });

Deno.test("at most ten tasks of a user are open, also when they start at the same time; the others wait as drafts", async () => {
  const { owner, browser, jobId, task } = await counted();
  const open = await Promise.all(Array.from({ length: 9 }, () => draft(owner, [jobId])));
  await sql`update console_list_tasks set status = 'Queued' where id = any(${open}::uuid[])`;
  const others = [task, await count(browser, "jobs", "cancel", jobId)];
  await sql`update console_list_tasks set total = 60, ids = array_fill(${jobId}::text, array[60])
    where id = any(${others.map(idOf)}::uuid[])`; // more than are done before the answer
  await Promise.all(others.map((task) => browser.submit(`${task}/start`)));
  const drafts = await sql`
    select from console_list_tasks where user_id = ${owner.userId} and status = 'Draft'`;
  assert.equal(drafts.count, 1);
  const { html } = await browser.open("lists/tasks");
  assert.match(html, /10 of your tasks wait or run\./);
});

Deno.test("only the latest ten drafts of a user are kept", async () => {
  const owner = await t.actor({ role: "Admin" });
  const drafted = await Promise.all(Array.from({ length: 13 }, () => draft(owner, [])));
  const kept = await sql<{ id: string }[]>`
    select id from console_list_tasks where user_id = ${owner.userId} order by id desc`;
  assert.equal(kept.length, 10);
  assert.ok(kept.every(({ id }) => drafted.includes(id)));
});

/** A task that makes the file of a list; such a task is made for more than 10,000 rows. @returns its path */
async function countFile(browser: PlainBrowser, owner: Actor): Promise<string> {
  const task = await count(browser, "jobs", "cancel", await waitingJob(owner));
  await sql`update console_list_tasks set kind = 'Csv', action = null where id = ${idOf(task)}`;
  return task;
}

async function makeFile(browser: PlainBrowser, owner: Actor): Promise<string> {
  const task = await countFile(browser, owner);
  await start(browser, task);
  await until(async () => (await browser.open(`${task}/download`)).location.includes("://"));
  return task;
}

Deno.test("an attempt that cannot complete its task leaves no confirmed file", async () => {
  const owner = await t.actor({ role: "Admin" });
  const browser = await browse(t, owner);
  const task = await countFile(browser, owner);
  const repair = await breakUpdates(idOf(task), "console_list_tasks", "new.file_id is not null");
  await start(browser, task);
  await until(async () =>
    (await sql`select from jobs where serialized_args like ${`%${idOf(task)}%`} and status = 'Failed'`).count
  );
  const files = await sql<{ status: string }[]>`select status from files where created_by = ${owner.userId}`;
  await repair();
  assert.deepEqual(new Set(pluck(files, "status")), new Set(["Pending"]), "the sweep purges it");
});

Deno.test("the file of a list is not downloaded before its scan, and each download is audited", async () => {
  const owner = await t.actor({ role: "Admin" });
  const browser = await browse(t, owner);
  const task = await makeFile(browser, owner);
  const [{ fileId = "" } = {}] = await sql<{ fileId: string }[]>`
    select file_id from console_list_tasks where id = ${idOf(task)}`;
  const { items } = (await owner.get(`/api/v1/audit-log?action=file.download-url&targetId=${fileId}`)).body;
  assert.deepEqual(pluck(items, "actorId"), [owner.userId]);
  const [notice] = await noticesOf(owner);
  assert.deepEqual([notice.title, notice.actionUrl.endsWith(task)], ["CSV of jobs", true]);
  const stranger = await browse(t, await t.actor({ tenantId: owner.tenantId ?? "", role: "Admin" }));
  for (const path of [task, `${task}/download`]) assert.equal((await stranger.open(path)).status, 404);
  const file = { profile: "document", fileName: "a.txt", contentType: "text/plain", sizeBytes: 4 };
  const { body: pending } = await owner.post("/api/v1/files", file);
  await sql`update console_list_tasks set file_id = ${pending.fileId} where id = ${idOf(task)}`;
  const early = await browser.open(`${task}/download`);
  assert.deepEqual([early.status, early.location.endsWith(task)], [303, true]);
  assert.match((await browser.open(task)).html, /file is Pending/);
});

Deno.test("who has left a tenant or lost the permission gets no file of its list any more", async () => {
  const [owner, there] = [await t.actor({ role: "Admin" }), await t.tenant()];
  await sql`insert into user_tenants (user_id, tenant_id) values (${owner.userId}, ${there})`;
  const task = await makeFile(await browse(t, await t.signedIn(owner)), owner);
  const elsewhere = await browse(t, await t.signedIn({ ...owner, tenantId: there } as Actor));
  assert.ok((await elsewhere.open(`${task}/download`)).location.includes("://"), "also from another tenant");
  await sql`delete from user_tenant_roles where user_id = ${owner.userId}`;
  await sql`delete from user_tenants where user_id = ${owner.userId} and tenant_id = ${owner.tenantId}`;
  await sql`update user_tenants set is_default = true where user_id = ${owner.userId}`;
  const later = await browse(t, await t.signedIn({ ...owner, tenantId: there } as Actor));
  const answer = await later.open(`${task}/download`);
  assert.equal(answer.status, 403, answer.location);
  assert.equal((await later.open("jobs")).status, 200, "the session goes on");
});
