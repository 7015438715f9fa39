import assert from "node:assert/strict";
import { RemoteWorker } from "../../support/remote_work.ts";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { browse, browseAt } from "./plain_browser.ts";

const t = await setupShared();

async function enqueue(actor: Actor, jobTypeName: string, args: unknown, more: Record<string, unknown> = {}) {
  const job = { jobTypeName, serializedArgs: JSON.stringify(args), ...more };
  return (await accepted(actor.post("/api/v1/jobs", job), 201)).id;
}

async function failed(actor: Actor, message: string): Promise<string> {
  const id = await enqueue(actor, "steward.fail", { message }, { maxRetries: 0 });
  assert.equal(await t.settled(id), "DeadLettered");
  return id;
}

Deno.test("a job is enqueued with a form generated from its type's schema, which shows errors per field", async () => {
  const browser = await browse(t, await t.actor({ permissions: ["run:http-requests"] }));
  (await browser.visit("jobs")).shows("No jobs yet");
  await browser.follow("Enqueue a job");
  await browser.visit("jobs/new?jobTypeName=steward.http-request");
  const wrong = await browser.press("Enqueue", { url: "ftp://example.test", headers: "{not json" });
  assert.equal(wrong.shows("not valid JSON").value("url"), "ftp://example.test", "what was typed stays");
  const refused = await browser.press("Enqueue", { headers: '{"x-a": "1"}', Queue: "Bad Queue" });
  assert.equal(refused.control("Queue").attribs["aria-invalid"], "true");
  (await browser.press("Enqueue", { Queue: "hooks" })).shows("expected an http or https URL");
  const job = {
    url: "https://example.test/hook",
    method: "POST",
    "Run at": "2050-07-01T12:00",
    Retries: "7",
  };
  const made = await browser.press("Enqueue", job);
  made.shows("The job was queued.", "0 of 8", '"method": "POST"');
  assert.ok(made.all("time").some(({ attribs }) => attribs.datetime === "2050-07-01T11:00:00.000Z"));
  (await browser.press("Cancel job")).shows("The job was cancelled.");
  await browser.follow("Enqueue a copy");
  assert.deepEqual([browser.page.value("url"), browser.page.value("Queue")], [job.url, "hooks"]);
});

Deno.test("the list is searched, filtered by status with counts, and sorted, all in the query", async () => {
  const actor = await t.actor();
  await t.settled(await enqueue(actor, "steward.echo", { a: "<b>x</b>" }));
  await failed(actor, "<img src=x onerror=alert(1)> broke");
  const browser = await browseAt(t, actor, "jobs");
  const dead = await browser.follow("Dead-lettered 1");
  assert.equal(dead.address, "/console/jobs?status=DeadLettered");
  assert.equal(dead.shows("<img src=x onerror=alert(1)> broke").rows.length, 1);
  await browser.visit("jobs");
  const found = await browser.press("Filter", { "Search job types": "ECHO" });
  assert.ok(found.offers.includes("All1"));
  const sorted = await browser.follow("Created");
  assert.match(sorted.address, /sortBy=CreatedAt/);
  assert.equal(sorted.value("Search job types"), "ECHO");
  (await browser.visit("jobs?searchTerm=nothing-like-it")).shows("Nothing matches these filters.");
});

Deno.test("a job shows its attempts, error, output and continuations, and is retried", async () => {
  const actor = await t.actor();
  const retrying = await enqueue(actor, "steward.fail", { message: "no luck\nat all" });
  await t.settled(retrying, ["Failed"]);
  const parent = await enqueue(actor, "steward.sleep", { milliseconds: 1 });
  const child = await enqueue(actor, "steward.echo", { after: "the parent" }, { parentJobId: parent });
  await t.settled(child);
  const browser = await browse(t, actor);
  (await browser.visit(`jobs/${parent}`)).shows("Continuations", '"slept": 1');
  (await browser.visit(`jobs/${child}`)).shows("Parent job");
  (await browser.visit(`jobs/${retrying}`)).shows("no luck at all");
  (await browser.press("Retry now")).shows("The job is retried now.");
  await browser.waitFor("Attempt 2");
});

Deno.test("a recurring job is created, described as text, paused, resumed, run, changed and deleted", async () => {
  const actor = await t.actor({ role: "Admin" });
  const browser = await browse(t, actor);
  (await browser.visit("recurring")).shows("No recurring jobs yet");
  await browser.follow("Create a recurring job");
  await browser.visit("recurring/new/form?jobTypeName=steward.sleep");
  const job = {
    jobId: "reports.weekday",
    Repeats: "cron",
    cronExpression: "61 8 * * 1-5",
    "Time zone": "America/New_York",
    milliseconds: "1",
  };
  const wrong = await browser.press("Create", job);
  assert.equal(wrong.control("cronExpression").attribs["aria-invalid"], "true");
  await browser.press("Create", { cronExpression: "30 8 * * 1-5" });
  browser.page.shows("The recurring job was created.", "on weekdays at 08:30", "Next runs");
  assert.equal(browser.page.rows.length, 5);
  (await browser.press("Pause")).shows("The recurring job is paused. After you resume it");
  (await browser.press("Resume")).shows("The recurring job runs on its schedule again.");
  (await browser.press("Run now")).shows("A run was queued.");
  await browser.visit("recurring");
  (await browser.follow("reports.weekday")).shows("Latest runs");
  await browser.follow("Edit");
  assert.equal(browser.page.value("Repeats"), "weekly");
  await actor.put("/api/v1/recurring-jobs/reports.weekday", { queue: "meanwhile" });
  const stale = await browser.press("Save", { Repeats: "minutes" }); // every 15 by default
  stale.shows("Someone else changed this while you were editing");
  (await browser.press("Save", { Repeats: "minutes" })).shows("every 15 minutes");
  await browser.visit("recurring/reports.weekday");
  (await browser.press("Delete")).shows("The recurring job was deleted.");
  const other = { jobId: "new", jobTypeName: "steward.echo", cronExpression: "0 8 * * *" };
  await actor.post("/api/v1/recurring-jobs", other);
  await browser.visit("recurring");
  assert.equal((await browser.follow("new")).heading, "new", "an id like the name of another page");
  assert.equal((await browser.follow("steward.echo")).heading, "steward.echo");
});

Deno.test("a schedule is chosen from parts: the next runs are shown, a missing part is refused, and nothing typed is lost", async () => {
  const admin = await t.actor({ role: "Admin" });
  const browser = await browseAt(t, admin, "recurring/new/form?jobTypeName=steward.echo");
  assert.equal(browser.page.value("Time zone"), "Europe/Lisbon", "that of the browser");
  const shown = async (values: Parameters<typeof browser.press>[1], text: string, runs = 5) => {
    const page = await browser.press("Show next runs", values);
    const [list] = page.all("*", ({ attribs }) => attribs.id === "next-runs");
    const part = page.shows(text).all("li", (li) => list !== undefined && isInside(li, list));
    assert.equal(part.length, runs, text);
  };
  await shown({ jobId: "weekly-one" }, "Every day at 08:00");
  await shown({ Repeats: "weekly", weekdays: ["1", "2"], At: "17:30" }, "Every Monday and Tuesday at 17:30");
  await shown({ weekdays: [] }, "Choose at least one day.", 0);
  const lastFriday = { Repeats: "weekday", Which: "L", "Day of the week": "5" };
  await shown(lastFriday, "On the last Friday of every month at 17:30");
  await shown({ "Time zone": "Asia/Tokyo" }, "17:30 in Asia/Tokyo");
  await shown({ Repeats: "cron", cronExpression: "0 0 30 2 *" }, "0 0 30 2 *", 0);
  assert.equal((await admin.get("/api/v1/recurring-jobs/weekly-one")).status, 404, "nothing was created");
  const refused = await browser.press("Create", { Repeats: "weekly", weekdays: [] });
  assert.equal(refused.shows("Choose at least one day.").value("jobId"), "weekly-one");
  (await browser.press("Create", { weekdays: ["5"] })).shows("every Friday at 17:30");
});

const isInside = (tag: { parent: unknown }, of: unknown): boolean =>
  tag.parent === of || (tag.parent !== null && isInside(tag.parent as { parent: unknown }, of));

Deno.test("dead letters are grouped by error, retried one by one, counted before a bulk retry, and purged", async () => {
  const actor = await t.actor();
  for (const message of ["order 1 lost", "order 22 lost", "disk <full>"]) await failed(actor, message);
  const browser = await browse(t, actor, "pt-PT");
  const groups = await browser.visit("dead-letters");
  assert.deepEqual([groups.heading, groups.rows.length], ["Falhas definitivas", 2]);
  assert.equal((await browser.follow("order 22 lost")).rows.length, 2);
  await browser.follow("steward.fail", "order 22 lost");
  (await browser.press("Repetir")).shows("A tarefa foi colocada de novo na fila.");
  await browser.visit("dead-letters");
  await browser.follow("Repetir o grupo", "disk <full>");
  (await browser.press("Contar")).shows("de novo na fila");
  const retried = async () => (await actor.get("/api/v1/dead-letter-jobs?isRetried=true")).body.totalCount;
  assert.equal(await retried(), 1, "counting retries nothing");
  (await browser.press("Repetir 1 tarefa")).shows("1 tarefa foi colocada de novo na fila.");
  assert.equal(await retried(), 2);
  const all = async () => (await actor.get("/api/v1/dead-letter-jobs")).body.totalCount;
  await until(all, (count) => count === 5, { what: "both retried jobs fail again" });
  await browser.visit("dead-letters/purge");
  (await browser.press("Contar")).shows("Preencha um campo, ou marque que se trata de todas");
  await browser.press("Contar", { "Todas as falhas definitivas": true });
  browser.page.shows("exclusão definitiva.");
  assert.equal(await retried(), 2, "counting deletes nothing");
  await browser.press("Excluir 5 falhas definitivas", { "O erro contém": "disk" });
  browser.page.shows("Os campos mudaram desde a contagem.");
  assert.equal(await retried(), 2, "other fields than those counted delete nothing");
  await browser.press("Contar", { "O erro contém": "" });
  (await browser.press("Excluir 5 falhas definitivas")).shows("5 falhas foram excluídas.");
  assert.equal(await all(), 0);
});

Deno.test("an operator finds which jobs failed and why, and runs one again with other arguments", async () => {
  const actor = await t.actor();
  const id = await failed(actor, "HTTP 409: the invoice exists");
  const browser = await browse(t, actor);
  await browser.begin("Jobs");
  await browser.press("Filter", { "Error contains": "409" });
  browser.page.shows("The last 5,000 failed jobs were searched.");
  await browser.go(`jobs/${id}`, "Run again with other arguments");
  (await browser.press("Run the job", { message: "the right address" })).shows(
    "The job was queued again, as this new job.",
    '"message": "the right address"',
  );
});

Deno.test("the pages of jobs say what is paused and why, and who may resumes it", async () => {
  const actor = await t.actor({ permissions: ["manage:jobs"] });
  const recurring = { jobTypeName: "steward.echo", cronExpression: "0 2 * * *" };
  for (const [jobId, queue] of [["nightly", "mail"], ["hourly", "default"]] as const) {
    await accepted(actor.post("/api/v1/recurring-jobs", { ...recurring, jobId, queue }));
  }
  await actor.post("/api/v1/jobs/queues/mail/pause", { reason: "The provider is down" });
  const id = await enqueue(actor, "steward.echo", {}, { queue: "mail" });
  const browser = await browse(t, actor);
  const saysWhy = async (page: string) => (await browser.open(page)).html.includes(": The provider is down");
  for (const page of ["jobs/new", "recurring", "recurring/nightly"]) assert.ok(await saysWhy(page), page);
  const other = await enqueue(actor, "steward.sleep", { milliseconds: 60_000 });
  for (const page of ["recurring/hourly", `jobs/${other}`]) assert.ok(!await saysWhy(page), page);
  await browser.begin();
  (await browser.follow("Jobs")).shows("Queue mail is paused: The provider is down");
  (await browser.follow(`jobs/${id}`)).shows("Queue mail is paused: The provider is down");
  (await browser.press("Resume")).shows("Queue mail is resumed in");
  assert.equal(await t.settled(id), "Succeeded");
});

Deno.test("workers are shown by host with what they hold; a job leads to its worker, a host to its jobs", async () => {
  const owner = await t.actor({ permissions: ["manage:job-types", "work:jobs"] });
  const [type, host] = [`invoices.${crypto.randomUUID()}`, `mailer-${crypto.randomUUID()}`];
  await owner.put(`/api/v1/job-types/${type}`, {});
  await enqueue(owner, type, {});
  const id = await enqueue(owner, type, {});
  const second = await t.actor({ tenantId: owner.tenantId ?? "", permissions: ["work:jobs"] });
  for (const by of [owner, second]) await new RemoteWorker(by, host).claim([type], { max: 1 });
  const browser = await browseAt(t, t.systemAdmin, "");
  await browser.follow("Workers");
  const { rows } = await browser.waitFor("2 workers, 2 jobs");
  const at = rows.findIndex((row) => row.startsWith(host));
  assert.match(rows[at] ?? "", /2 workers, 2 jobs/);
  for (const row of rows.slice(at + 1, at + 3)) assert.match(row, new RegExp(`Own worker.*Deno/.*${type}`));
  assert.match(rows.find((row) => row.includes("Part of the service")) ?? "", /Steward\//);
  await browser.visit(`jobs/${id}`);
  const [, worker = ""] = /workers\?worker=([\w-]+)/.exec(browser.page.hrefs.join(" ")) ?? [];
  await browser.follow(`workers?worker=${worker}`);
  assert.deepEqual(browser.page.rows.filter((row) => row.includes(type)).length, 1);
  await browser.follow(host);
  assert.equal(browser.page.heading, host);
  assert.equal(browser.page.rows.filter((row) => row.includes(type)).length, 2);
  assert.ok(browser.page.hrefs.includes(`jobs/${id}`));
  (await browser.visit(`workers?worker=${owner.userId}`)).shows("The worker has ended.");
  assert.doesNotMatch((await (await browse(t, owner)).visit(`jobs/${id}`)).hrefs.join(), /workers/);
});
