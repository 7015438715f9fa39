import assert from "node:assert/strict";
import { draftListTask } from "../../../domain/console/list_task.ts";
import { saveFilter } from "../../../domain/console/saved_filters.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { newSecret } from "../../../domain/shared/secrets.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { browse, hiddenOf, type PlainBrowser } from "./plain_browser.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

/** A job that is due tomorrow. @returns its id */
async function waitingJob(owner: Actor): Promise<string> {
  const scheduledAt = new Date(Date.now() + 86_400_000).toISOString();
  const job = { jobTypeName: "steward.echo", serializedArgs: "[1]", scheduledAt };
  return (await owner.post("/api/v1/jobs", job)).body.id;
}

/** Counts the jobs to cancel. @returns the path of the task */
async function countJobs(browser: PlainBrowser, ...ids: string[]): Promise<string> {
  return await countRows(browser, { list: "jobs", action: "cancel", ids });
}

async function countRows(
  browser: PlainBrowser,
  { list, action, ids }: { list: string; action: string; ids: string[] },
): Promise<string> {
  const counted = await browser.submit("lists/count", { list, query: "", do: action, id: ids });
  const task = counted.location.replace(/^.*\/console\//, "");
  assert.match(task, /^lists\/tasks\//);
  return task;
}

async function start(browser: PlainBrowser, task: string) {
  return await browser.send(`${task}/start`, hiddenOf((await browser.open(task)).html, `${task}/start`));
}

/** Lets each update of a job fail. @returns a function that ends this */
async function breakUpdates(jobId: string): Promise<() => Promise<unknown>> {
  const name = `fail_${newSecret().replaceAll(/\W/g, "").slice(0, 8).toLowerCase()}`;
  await sql.unsafe(`create function ${name}() returns trigger language plpgsql as $$
    begin raise exception 'the disk is full'; end $$`);
  await sql.unsafe(`create trigger ${name} before update on jobs for each row when (old.id = '${jobId}')
    execute function ${name}()`);
  return () => sql.unsafe(`drop function ${name} cascade`);
}

const statusOf = async (owner: Actor, jobId: string): Promise<string> =>
  (await owner.get(`/api/v1/jobs/${jobId}`)).body.status;

const idOf = (task: string): string => task.slice("lists/tasks/".length);

Deno.test("an action on a few rows goes on by itself after a failure of the service", async () => {
  const owner = await t.actor({ role: "Admin" });
  const jobId = await waitingJob(owner);
  const browser = await browse(t, owner);
  const task = await countJobs(browser, jobId);
  const repair = await breakUpdates(jobId);
  await start(browser, task);
  await repair();
  await until(async () => await statusOf(owner, jobId) === "Cancelled");
  await until(async () => (await browser.open(task)).html.includes("Completed"));
});

Deno.test("an action on a few rows goes on as a job if its process ends before the answer", async () => {
  const owner = await t.actor({ role: "Admin" });
  const ids = [await waitingJob(owner), await waitingJob(owner)];
  const browser = await browse(t, owner);
  const task = await countJobs(browser, ...ids);
  await start(browser, task);
  const [takeOver] = await sql<{ id: string; status: string }[]>`
    select id, status from jobs where job_type_name = 'steward.list-task'
      and serialized_args like ${`%${idOf(task)}%`}`;
  assert.equal(takeOver?.status, "Scheduled");
  // as a process leaves it that ends after the first row
  const left = await waitingJob(owner);
  await sql`update console_list_tasks
    set status = 'Running', ended_at = null, position = 1, ids = ${[ids[0] ?? "", left]} where id = ${
    idOf(task)
  }`;
  await sql`update jobs set due_at = now(), status = 'Enqueued' where id = ${takeOver?.id ?? ""}`;
  await t.steward.sweep();
  await until(async () => await statusOf(owner, left) === "Cancelled");
  await until(async () => (await browser.open(task)).html.includes("Completed"));
});

Deno.test("an action on more than 100 rows starts only with their number typed", async () => {
  const owner = await t.actor({ role: "Admin" });
  const scheduledAt = new Date(Date.now() + 86_400_000).toISOString();
  const jobs = Array.from({ length: 101 }, () => ({ jobTypeName: "steward.echo", scheduledAt }));
  await owner.post("/api/v1/jobs/batches", { jobs });
  const made = await sql<{ id: string }[]>`select id from jobs where tenant_id = ${owner.tenantId}`;
  const browser = await browse(t, owner);
  const task = await countJobs(browser, ...made.map(({ id }) => id));
  const fields = hiddenOf((await browser.open(task)).html, `${task}/start`);
  await browser.send(`${task}/start`, fields);
  await browser.send(`${task}/start`, [...fields, ["typed", "100"]]);
  const isDraft = async () => {
    const [row] = await sql<{ status: string }[]>`select status from console_list_tasks where id = ${
      idOf(task)
    }`;
    return row?.status === "Draft";
  };
  assert.equal(await isDraft(), true);
  await browser.send(`${task}/start`, [...fields, ["typed", "101"]]);
  assert.equal(await isDraft(), false);
});

Deno.test("who started a task is told that its job has failed for the last time", async () => {
  const owner = await t.actor({ role: "Admin" });
  const jobId = await waitingJob(owner);
  const browser = await browse(t, owner);
  const task = await countJobs(browser, jobId);
  const repair = await breakUpdates(jobId);
  await start(browser, task);
  await sql`update jobs set due_at = now(), status = 'Enqueued', max_retries = 0
    where job_type_name = 'steward.list-task' and serialized_args like ${`%${idOf(task)}%`}`;
  await t.steward.sweep();
  const notices = () => owner.get(`/api/v1/user-notifications?userId=${owner.userId}&category=lists`);
  const { body } = await until(notices, (read) => read.body.items.length > 0);
  await repair();
  assert.ok(body.items[0].actionUrl.endsWith(task));
  assert.match((await browser.open(task)).html, /Failed/);
});

Deno.test("a task fails with its job if the worker of the last attempt is lost", async () => {
  const owner = await t.actor({ role: "Admin" });
  const browser = await browse(t, owner);
  const task = await countJobs(browser, await waitingJob(owner));
  await start(browser, task);
  // as a process leaves both that ends in the last attempt
  await sql`update console_list_tasks set status = 'Running', ended_at = null, position = 0 where id = ${
    idOf(task)
  }`;
  await sql`update jobs set status = 'Processing', worker_id = ${newId()}, started_at = now(), attempts = 5,
      max_retries = 0, lost_leases = 1
    where job_type_name = 'steward.list-task' and serialized_args like ${`%${idOf(task)}%`}`;
  await t.steward.sweep();
  assert.match((await browser.open(task)).html, /Failed/);
  const notices = `/api/v1/user-notifications?userId=${owner.userId}&category=lists`;
  const [notice] = await until(async () => (await owner.get(notices)).body.items, ({ length }) => length > 0);
  assert.ok(notice.actionUrl.endsWith(task));
});

Deno.test("ticked dead letters are retried or purged, and others stay", async () => {
  const owner = await t.actor({ role: "Admin" });
  const letters = await Promise.all([1, 2, 3].map(async () => {
    const job = { jobTypeName: "steward.fail", serializedArgs: '{"message":"no luck"}', maxRetries: 0 };
    const { body: { id } } = await owner.post("/api/v1/jobs", job);
    await t.settled(id);
    const { items } = (await owner.get("/api/v1/dead-letter-jobs")).body;
    return items.find(({ jobId }: { jobId: string }) => jobId === id)?.id as string;
  }));
  const browser = await browse(t, owner);
  const list = "dead-letters/list";
  const [retried = "", purged = "", kept = ""] = letters;
  await start(browser, await countRows(browser, { list, action: "retry", ids: [retried] }));
  await start(browser, await countRows(browser, { list, action: "purge", ids: [purged] }));
  const read = (id: string) => owner.get(`/api/v1/dead-letter-jobs/${id}`);
  assert.notEqual((await read(retried)).body.retriedJobId, null);
  assert.equal((await read(purged)).status, 404);
  assert.equal((await read(kept)).body.retriedJobId, null);
  const again = await browser.submit("lists/count", { list, query: "", do: "purge", id: retried });
  assert.ok(again.location.endsWith(list), "a dead letter that was retried cannot be purged");
});

Deno.test("at most ten tasks of a user are open, also when they start at the same time; the others wait as drafts", async () => {
  const owner = await t.actor({ role: "Admin" });
  const browser = await browse(t, owner);
  const jobId = await waitingJob(owner);
  const tasks = await Promise.all(Array.from({ length: 10 }, () => countJobs(browser, jobId)));
  await sql`update console_list_tasks set status = 'Queued'
    where id = any(${tasks.slice(0, 9).map(idOf)}::uuid[])`;
  const others = [tasks[9] ?? "", await countJobs(browser, jobId), await countJobs(browser, jobId)];
  await sql`update console_list_tasks set total = 60, ids = array_fill(${jobId}::text, array[60])
    where id = any(${others.map(idOf)}::uuid[])`; // more than are done before the answer
  await Promise.all(others.map((task) => browser.submit(`${task}/start`)));
  const [{ drafts = 0 } = {}] = await sql<{ drafts: number }[]>`
    select count(*)::int as drafts from console_list_tasks where user_id = ${owner.userId} and status = 'Draft'`;
  assert.equal(drafts, 2);
  const { html } = await browser.open("lists/tasks");
  assert.match(html, /10 of your tasks wait or run\./);
});

Deno.test("only the latest ten drafts of a user are kept", async () => {
  const owner = await t.actor({ role: "Admin" });
  const task = {
    userId: owner.userId,
    sessionId: newId(),
    tenantId: owner.tenantId,
    securityVersion: 1,
    kind: "Csv" as const,
    list: "jobs",
    query: "",
    action: null,
    locale: "en",
    timeZone: "UTC",
    total: 1,
    ids: [],
  };
  const drafted = await Promise.all(Array.from({ length: 13 }, () => draftListTask(sql, task)));
  const kept = await sql<{ id: string }[]>`
    select id from console_list_tasks where user_id = ${owner.userId} order by id desc`;
  assert.equal(kept.length, 10);
  assert.ok(kept.every(({ id }) => drafted.includes(id)));
});

/** A task that makes the file of a list; such a task is made for more than 10,000 rows. @returns its path */
async function makeFile(browser: PlainBrowser, owner: Actor): Promise<string> {
  const task = await countJobs(browser, await waitingJob(owner));
  await sql`update console_list_tasks set kind = 'Csv', action = null where id = ${idOf(task)}`;
  await start(browser, task);
  await until(async () => (await browser.open(`${task}/download`)).location.includes("://"));
  return task;
}

Deno.test("the file of a list is not downloaded before its scan, and each download is audited", async () => {
  const owner = await t.actor({ role: "Admin" });
  const browser = await browse(t, owner);
  const task = await makeFile(browser, owner);
  const [{ fileId = "" } = {}] = await sql<{ fileId: string }[]>`
    select file_id from console_list_tasks where id = ${idOf(task)}`;
  const { items } = (await owner.get(`/api/v1/audit-log?action=file.download-url&targetId=${fileId}`)).body;
  assert.deepEqual(items.map(({ actorId }: { actorId: string }) => actorId), [owner.userId]);
  const { items: [notice] } =
    (await owner.get(`/api/v1/user-notifications?userId=${owner.userId}&category=lists`)).body;
  assert.deepEqual([notice.title, notice.actionUrl.endsWith(task)], ["CSV of jobs", true]);
  const stranger = await browse(t, await t.actor({ tenantId: owner.tenantId ?? "", role: "Admin" }));
  for (const path of [task, `${task}/download`]) assert.equal((await stranger.open(path)).status, 404);
  const { body: pending } = await owner.post("/api/v1/files", {
    profile: "document",
    fileName: "a.txt",
    contentType: "text/plain",
    sizeBytes: 4,
  });
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

Deno.test("filters are saved of lists that are open to the user, and at most 200 of all lists", async () => {
  const viewer = await t.actor({ permissions: ["manage:settings"] });
  const browser = await browse(t, viewer);
  const save = (list: string) => browser.submit("lists/filters", { list, query: "search=x", name: "Mine" });
  for (const list of ["settings", "users", "no-such-list", "lists/count"]) await save(list);
  const saved = await sql<{ list: string }[]>`
    select list from console_saved_filters where user_id = ${viewer.userId}`;
  assert.deepEqual(saved.map(({ list }) => list), ["settings"]);
  const { userId } = viewer;
  await sql`insert into console_saved_filters (user_id, list, slot, name, query)
    select ${userId}, 'roles/' || n, 1, 'Mine', 'search=x' from generate_series(1, 197) n`;
  const outcomes = await Promise.all(
    ["a", "b", "c", "d"].map((list) => saveFilter(sql, { userId, list, name: "Mine", query: "search=x" })),
  );
  assert.equal(outcomes.filter(Boolean).length, 2);
  assert.equal(await saveFilter(sql, { userId, list: "settings", name: "mine", query: "search=y" }), true);
});
