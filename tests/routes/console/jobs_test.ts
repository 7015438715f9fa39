import assert from "node:assert/strict";
import { until } from "../../support/until.ts";
import { openConsole, setupConsole } from "./support.ts";
import { browse } from "./plain_browser.ts";

const { t, inBrowser } = await setupConsole();

type Enqueuer = Awaited<ReturnType<typeof t.actor>>;
async function enqueue(
  actor: Enqueuer,
  jobTypeName: string,
  args: unknown,
  more: Record<string, unknown> = {},
) {
  const { status, body } = await actor.post("/api/v1/jobs", {
    jobTypeName,
    serializedArgs: JSON.stringify(args),
    ...more,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id as string;
}
const failed = (actor: Enqueuer, message: string) =>
  enqueue(actor, "steward.fail", { message }, { maxRetries: 0 }).then(async (id) => {
    await t.settled(id);
    return id;
  });

inBrowser(
  "a job is enqueued with a form generated from its type's schema, which shows errors per field",
  async (b) => {
    const viewing = await openConsole(b, t, await t.actor({ permissions: ["run:http-requests"] }));
    const { page } = viewing;
    await viewing.open("jobs");
    await page.getByText("No jobs yet").waitFor();
    await viewing.requireAccessible();
    await page.getByRole("link", { name: "Enqueue a job" }).click();
    await page.getByLabel("Job type").selectOption("steward.http-request");
    await page.waitForURL("**/jobs/new?jobTypeName=steward.http-request");
    await page.getByLabel("url").fill("ftp://example.test");
    await page.getByLabel("headers").fill("{not json");
    await page.getByRole("button", { name: "Enqueue" }).click();
    await page.locator("#f-arg\\.headers-error").getByText("not valid JSON").waitFor();
    assert.equal(await page.getByLabel("url").inputValue(), "ftp://example.test", "what was typed stays");
    await page.getByLabel("headers").fill('{"x-a": "1"}');
    await page.getByLabel("Queue").fill("Bad Queue");
    await page.getByRole("button", { name: "Enqueue" }).click();
    await page.locator("#f-queue-error").waitFor();
    await page.getByLabel("Queue").fill("hooks");
    await page.getByRole("button", { name: "Enqueue" }).click();
    await page.locator("#f-arg\\.url-error").getByText("expected an http or https URL").waitFor();
    await viewing.requireAccessible();
    viewing.forgive();
    await page.getByLabel("url").fill("https://example.test/hook");
    await page.getByLabel("method").selectOption("POST");
    await page.getByLabel("Run at").fill("2050-07-01T12:00");
    await page.getByLabel("Retries").fill("7");
    await page.getByRole("button", { name: "Enqueue" }).click();
    await page.getByText("The job was queued.").waitFor();
    await page.getByText("0 of 8").waitFor();
    await page.getByText("01 Jul").or(page.locator('time[datetime="2050-07-01T11:00:00.000Z"]')).first()
      .waitFor();
    await page.getByText('"method": "POST"').waitFor();
    await page.getByRole("button", { name: "Cancel job" }).click();
    await page.locator("dialog[open] [data-confirm-yes]").click();
    await page.getByText("The job was cancelled.").waitFor();
    await page.getByRole("link", { name: "Enqueue a copy" }).click();
    assert.equal(await page.getByLabel("url").inputValue(), "https://example.test/hook");
    assert.equal(await page.getByLabel("Queue").inputValue(), "hooks");
    await viewing.close();
  },
);

inBrowser(
  "the list is searched, filtered by status with counts, and sorted, all in the query",
  async (b) => {
    const actor = await t.actor();
    await t.settled(await enqueue(actor, "steward.echo", { a: "<b>x</b>" }));
    await failed(actor, "<img src=x onerror=alert(1)> broke");
    const viewing = await openConsole(b, t, actor, { theme: "dark" });
    const { page } = viewing;
    await viewing.open("jobs");
    await page.getByRole("link", { name: "Dead-lettered 1" }).click();
    await page.waitForURL("**/jobs?status=DeadLettered");
    await page.getByText("<img src=x onerror=alert(1)> broke").first().waitFor();
    assert.equal(await page.locator("tbody tr").count(), 1);
    await viewing.requireAccessible();
    await viewing.open("jobs");
    await page.getByLabel("Search job types").fill("ECHO");
    await page.waitForURL("**searchTerm=ECHO**");
    await page.getByRole("link", { name: "All 1", exact: true }).waitFor();
    await page.getByRole("link", { name: "Created" }).click();
    await page.waitForURL("**sortBy=CreatedAt**");
    assert.equal(await page.getByLabel("Search job types").inputValue(), "ECHO");
    await viewing.open("jobs?searchTerm=nothing-like-it");
    await page.getByText("Nothing matches these filters.").waitFor();
    await viewing.close();
  },
);

inBrowser(
  "a job shows its attempts, error, output, log and continuations, and its progress refreshes",
  async (b) => {
    const actor = await t.actor();
    const retrying = await enqueue(actor, "steward.fail", { message: "no luck\nat all" });
    await t.settled(retrying, ["Failed"]);
    const viewing = await openConsole(b, t, actor, { phone: true });
    const { page } = viewing;
    await viewing.open("jobs"); // the next page opens faster
    const parent = await enqueue(actor, "steward.sleep", { milliseconds: 15_000 });
    const child = await enqueue(actor, "steward.echo", { after: "the parent" }, { parentJobId: parent });
    await viewing.open(`jobs/${parent}`);
    await page.getByText("Processing").first().waitFor();
    await page.getByRole("heading", { name: "Continuations" }).waitFor();
    await page.getByRole("progressbar").waitFor();
    await viewing.requireNoSidewaysScroll();
    await viewing.requireAccessible();
    await page.getByText('"slept": 15000').waitFor();
    await viewing.open(`jobs/${child}`);
    await page.getByText("Parent job").waitFor();
    await viewing.open(`jobs/${retrying}`);
    await page.getByText("no luck at all").first().waitFor();
    await page.getByRole("button", { name: "Retry now" }).click();
    await page.getByText("The job is retried now.").waitFor();
    await page.getByText("Attempt 2").waitFor();
    await viewing.close();
    const outsider = await openConsole(b, t, await t.actor());
    assert.equal(await outsider.open(`jobs/${parent}`), 404);
    assert.equal(await outsider.open("jobs/no-id"), 404);
    outsider.forgive();
    await outsider.close();
  },
);

inBrowser(
  "a recurring job is created, described as text, paused, resumed, run, changed and deleted",
  async (b) => {
    const actor = await t.actor({ role: "Admin" });
    const viewing = await openConsole(b, t, actor);
    const { page } = viewing;
    await viewing.open("recurring");
    await page.getByText("No recurring jobs yet").waitFor();
    await page.getByRole("link", { name: "Create a recurring job" }).click();
    await page.getByLabel("Job type").selectOption("steward.sleep");
    await page.getByLabel("milliseconds").waitFor();
    await page.locator("#f-jobId").fill("reports.weekday");
    await page.getByLabel("Repeats").selectOption("cron");
    await page.getByLabel("Cron expression", { exact: true }).fill("61 8 * * 1-5");
    await page.getByLabel("Time zone").fill("America/New_York");
    await page.getByLabel("milliseconds").fill("1");
    await page.getByRole("button", { name: "Create" }).click();
    await page.locator("#f-cronExpression-error").waitFor();
    viewing.forgive();
    await viewing.requireAccessible();
    await page.getByLabel("Cron expression").fill("30 8 * * 1-5");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("The recurring job was created.").waitFor();
    await page.getByText("on weekdays at 08:30").waitFor();
    assert.equal(await page.getByRole("region", { name: "Next runs" }).locator("tbody tr").count(), 5);
    await viewing.requireAccessible();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("The recurring job is paused. After you resume it").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("The recurring job runs on its schedule again.").waitFor();
    await page.getByRole("button", { name: "Run now" }).click();
    await page.getByText("A run was queued.").waitFor();
    await page.getByRole("link", { name: "reports.weekday" }).click();
    await page.getByText("Latest runs").waitFor();
    await page.getByRole("link", { name: "Edit" }).click();
    assert.equal(await page.getByLabel("Repeats").inputValue(), "weekly");
    await actor.put("/api/v1/recurring-jobs/reports.weekday", { queue: "meanwhile" });
    await page.getByLabel("Repeats").selectOption("minutes"); // every 15 by default
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Someone else changed this while you were editing").waitFor();
    viewing.forgive();
    await viewing.open("recurring/reports.weekday/edit");
    await page.getByLabel("Repeats").selectOption("minutes"); // every 15 by default
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("every 15 minutes").waitFor();
    await viewing.open("recurring");
    await viewing.open("recurring/reports.weekday");
    await page.getByRole("button", { name: "Delete" }).click();
    await page.locator("dialog[open] [data-confirm-yes]").click();
    await page.getByText("The recurring job was deleted.").waitFor();
    await actor.post("/api/v1/recurring-jobs", {
      jobId: "new",
      jobTypeName: "steward.echo",
      cronExpression: "0 8 * * *",
      serializedArgs: "{}",
    });
    await viewing.open("recurring");
    await page.getByRole("link", { name: "new", exact: true }).click();
    await page.getByRole("heading", { name: "new", exact: true }).waitFor();
    await viewing.close();
  },
);

inBrowser(
  "dead letters are grouped by error, retried one by one, counted before a bulk retry, and purged",
  async (b) => {
    const actor = await t.actor();
    for (const message of ["order 1 lost", "order 22 lost", "disk <full>"]) await failed(actor, message);
    const viewing = await openConsole(b, t, actor, { locale: "pt-PT" });
    const { page } = viewing;
    await viewing.open("dead-letters");
    await page.getByRole("heading", { name: "Falhas definitivas" }).waitFor();
    assert.equal(await page.locator("tbody tr").count(), 2);
    await viewing.requireAccessible();
    await page.getByRole("link", { name: "order 22 lost" }).click();
    assert.equal(await page.locator("tbody tr").count(), 2);
    await page.getByRole("link", { name: "steward.fail" }).first().click();
    await page.getByText("order 22 lost").first().waitFor();
    await viewing.requireAccessible();
    await page.getByRole("button", { name: "Repetir" }).click();
    await page.getByText("A tarefa foi colocada de novo na fila.").waitFor();
    await viewing.open("dead-letters");
    await page.getByRole("link", { name: "Repetir o grupo" }).last().click();
    await page.getByRole("button", { name: "Contar" }).click();
    await page.getByText("1 falha corresponde.").waitFor();
    await viewing.requireAccessible();
    const retried = async () => {
      const { body } = await actor.get("/api/v1/dead-letter-jobs?isRetried=true");
      return body.totalCount;
    };
    assert.equal(await retried(), 1, "counting retries nothing");
    await page.getByRole("button", { name: "Repetir 1 tarefa" }).click();
    await page.getByText("1 tarefa foi colocada de novo na fila.").waitFor();
    assert.equal(await retried(), 2);
    const all = async () => (await actor.get("/api/v1/dead-letter-jobs")).body.totalCount;
    await until(all, (count) => count === 5, { what: "both retried jobs fail again" });
    await viewing.open("dead-letters/purge");
    await page.getByRole("button", { name: "Contar" }).click();
    await page.getByText("Preencha um campo, ou marque que se trata de todas").waitFor();
    viewing.forgive();
    await page.getByLabel("Todas as falhas definitivas").check();
    await page.getByRole("button", { name: "Contar" }).click();
    await page.getByText("5 falhas correspondem.").waitFor();
    await viewing.requireAccessible();
    assert.equal(await retried(), 2, "counting deletes nothing");
    await page.getByLabel("O erro contém").fill("disk");
    await page.getByRole("button", { name: "Excluir 5 falhas definitivas" }).click();
    await page.getByText("Os campos mudaram desde a contagem.").waitFor();
    assert.equal(await retried(), 2, "other fields than those counted delete nothing");
    await page.getByLabel("O erro contém").fill("");
    await page.getByRole("button", { name: "Contar" }).click();
    await page.getByRole("button", { name: "Excluir 5 falhas definitivas" }).click();
    await page.getByText("5 falhas foram excluídas.").waitFor();
    assert.equal(await retried(), 0);
    await viewing.close();
  },
);

Deno.test("the pages of recurring jobs and of enqueueing say what is paused and why", async () => {
  const actor = await t.actor({ permissions: ["manage:jobs"] });
  for (const jobId of ["nightly", "hourly"]) {
    const cronExpression = jobId === "nightly" ? "0 2 * * *" : "0 * * * *";
    const queue = jobId === "nightly" ? "mail" : "default";
    const recurring = { jobId, jobTypeName: "steward.echo", cronExpression, queue, serializedArgs: "{}" };
    assert.equal((await actor.post("/api/v1/recurring-jobs", recurring)).status, 201);
  }
  await actor.post("/api/v1/jobs/queues/mail/pause", { reason: "The provider is down" });
  const browser = await browse(t, actor);
  const saysWhy = async (page: string) => (await browser.open(page)).html.includes(": The provider is down");
  assert.deepEqual(
    await Promise.all(["jobs/new", "recurring", "recurring/nightly", "recurring/hourly"].map(saysWhy)),
    [true, true, true, false],
  );
});
