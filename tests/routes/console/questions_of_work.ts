import assert from "node:assert/strict";
import { RemoteWorker } from "../../support/remote_work.ts";
import type { Asking } from "./questioner.ts";
import { TRACE } from "./questions_world.ts";

/** Questions about jobs, the service and its tenants. */
export function askAboutWork({ ask, read, w }: Asking): void {
  const { zora, t } = w;
  ask("Is it healthy, and what changed in the last hour?", async (q) => {
    await q.shows(
      /[\d,]+ dead letters are open/,
      "1 report of the last 24 hours did not reach all recipients.",
    );
    await q.shows("Branch 7", /created webhook .*\/stock/);
  });

  ask("What is the p95 duration of a job type today?", async (q) => {
    await q.go("Job types", ["steward.sleep", "the type"], "Today");
    await q.rows(/^Running 4\d(\.\d)? s 4\d(\.\d)? s 4\d(\.\d)? s$/);
  });

  ask("Why did a job fail, and what did it log?", async (q) => {
    await q.go("Jobs", "Dead-lettered", ["steward.fail", "the job"]);
    await q.shows("Ledger 9 is closed", "opening ledger 9", "11:30:00.000");
  });

  ask("Retry all failed jobs of a tenant that have one error", async (q) => {
    const open = async (tenantId: string, error: string): Promise<number> => {
      const query = `isRetried=false&errorContains=${error}&tenantId=${tenantId}`;
      return (await read(`dead-letter-jobs?${query}`, w.admin)).totalCount;
    };
    const before = [await open(w.zephyr, "Disk"), await open(w.branches[0] ?? "", "Partner")];
    assert.ok(await open(w.zephyr, "Partner") > 5);
    await q.click(/^Scope/, { as: "the scope" });
    await q.type("zephyr");
    await q.shows("1 found");
    await q.key("Enter");
    await q.click("Dead letters", { within: "These lists show" });
    await q.click("Retry the group", { within: "Partner answered 503" });
    await q.click(/^Retry \d+ jobs/, { as: "Retry … jobs" });
    await q.shows(/\d+ jobs were queued again/);
    assert.equal(await open(w.zephyr, "Partner"), 0);
    assert.deepEqual([await open(w.zephyr, "Disk"), await open(w.branches[0] ?? "", "Partner")], before);
  });

  ask("Pause a queue with a reason; resume it", async (q) => {
    await q.click("Pause for all tenants", { within: /^\s*imports/ });
    await q.type("The mail server moves", "Reason");
    await q.click("Pause queue imports for all tenants", { as: "Pause queue …" });
    await q.shows("The mail server moves");
    await q.begin("Resume for all tenants");
    await q.shows(/Queue imports is resumed/);
  });

  ask("Which worker on which host holds a job?", async (q) => {
    const worker = await t.actor({ tenantId: w.zephyr, permissions: ["work:jobs"] });
    assert.equal((await new RemoteWorker(worker, "mailer-7").claim(["zephyr.mail"])).length, 1);
    await q.key("Control+k");
    await q.type(w.waiting);
    await q.shows("With this id");
    await q.key("Enter");
    await q.click(/^…/, { within: "Attempt 1", as: "Worker" });
    await q.shows("mailer-7");
  });

  ask("Find anything by an email, an id or a trace id", async (q) => {
    const finds = async (text: string, group: string, page: RegExp) => {
      await q.key("Control+k");
      await q.type(text);
      await q.shows(group);
      await q.key("Enter");
      await q.page.waitForURL(page);
    };
    await finds("ana@zephyr.test", "Ana Prado", new RegExp(`/users/${w.ana}$`));
    await q.begin();
    await finds(w.failed, "With this id", new RegExp(`/jobs/${w.failed}$`));
    await q.begin();
    await finds(TRACE, "Jobs of this trace", /\/jobs\//);
    await q.shows("notifications.deliver");
  });

  ask("Download a filtered list as CSV", async (q) => {
    await q.go("Jobs", "Dead-lettered");
    const download = q.page.waitForEvent("download");
    await q.click("CSV");
    const [head, ...rows] = (await Deno.readTextFile(await (await download).path())).trim().split("\r\n");
    assert.match(head ?? "", /,Tenant,Status,.*,Error,/);
    const { totalCount } = await read("jobs?status=DeadLettered&hideInternal=true", w.admin);
    assert.equal(rows.length, totalCount);
    assert.ok(rows.every((row) => row.includes(",Dead-lettered,")));
  });

  ask("How did a deploy change the failure rate?", async (q) => {
    await q.go("Workers", "Deploys", ["Billing 4.2", "the deploy"]);
    await q.rows(/^steward.http-request 100 100 1% 40%/);
  });

  ask("What happens in the next 24 hours?", async (q) => {
    await q.go("Recurring jobs", "Next 24 hours");
    const all = [
      "Recurring job zephyr.hourly",
      "Scheduled jobs steward.http-request",
      "Scheduled messages Email",
    ];
    for (const planned of all) {
      await q.rows(new RegExp(`^(\\d+ \\w+ \\d{4}, )?\\d\\d:\\d\\d .*${planned} \\d`)); // after midnight with its day
    }
  }, zora);

  ask("How much does each tenant store, and how fast does it grow?", async (q) => {
    await q.go("Tenants", "Usage");
    await q.rows(/Zephyr 6 GiB \+2 GiB ?50%/);
  });

  ask("How many mails did each tenant send in a month?", async (q) => {
    await q.go("Tenants", "Usage");
    await q.rows(/Zephyr .* 1,234 ?before: 900/);
  });

  ask("Which were the ten slowest jobs of yesterday?", async (q) => {
    await q.go("Jobs", "Period");
    await q.choose("Period", "Yesterday");
    await q.go([/^Duration/, "Duration"], [/^Duration/, "Duration"]);
    const rows = (await q.rows(/1 h 52 min/)).slice(1, 11);
    const durations = rows.map((row) => /\d+ h \d+ min/.exec(row)?.[0]);
    assert.deepEqual(durations, Array.from({ length: 10 }, (_, n) => `1 h ${52 - n} min`));
  });

  ask("What belongs to one trace?", async (q) => {
    await q.go("Audit log", "Timeline", "Trace id");
    await q.type(TRACE, "Trace id");
    await q.key("Enter");
    await q.shows("Everything of one trace", /created role Traced/, "notifications.deliver", /Invoice 77/);
    assert.ok(!(await q.page.locator("main").innerText()).includes("created role Clerk"));
  }, zora);

  ask("What did one tenant do today?", async (q) => {
    await q.click("Tenants");
    await q.type("zephyr", "Search tenants");
    await q.go(["Zephyr", "the tenant"], "Show timeline");
    await q.shows("Everything of one tenant", "Today", "You look at Zephyr without working in it.");
    await q.shows(/Zora Lim created webhook/);
    assert.ok(!(await q.page.locator("main").innerText()).includes("Branch"));
  });

  ask("What fills the database?", async (q) => {
    await q.go("Workers", "Database");
    await q.shows("Tables, largest first");
    const [, first = ""] = await q.rows(/^jobs /);
    assert.match(first, /\d+(\.\d)? [KM]iB/);
  });

  ask("Tell me when more than ten dead letters are open", async (q) => {
    await q.go("Workers", "Alert rules", "New alert rule");
    await q.type("Dead letters", "Name");
    await q.choose("Value", "Open dead letters");
    await q.type("10", "Threshold");
    await q.click("Create");
    await q.rows(/^Dead letters Open dead letters 10/);
  });

  ask("Why did a job fail; pause a queue; who gave a role? By keyboard alone", async (q) => {
    await q.key("Control+k");
    await q.type(w.failed);
    await q.shows("With this id");
    await q.key("Enter");
    await q.shows("Ledger 9 is closed", "opening ledger 9");
    await q.begin();
    await q.key("Control+k");
    await q.type("pause imports");
    await q.shows("Pause queue imports for all tenants");
    await q.key("Enter");
    await q.tabTo("Reason");
    await q.type("By keyboard");
    await q.key("Enter");
    await q.shows("By keyboard");
    await q.begin();
    await q.key("Control+k");
    await q.type("ana prado");
    await q.shows("ana@zephyr.test");
    await q.key("Enter");
    await q.tabTo("Change history");
    await q.key("Enter");
    await q.shows(/Zora Lim gave Ana Prado the role Admin/);
  });
}
