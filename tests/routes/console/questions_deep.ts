// Questions of an operator. The README of the console has the way to each answer.
import assert from "node:assert/strict";
import { accepted } from "../../support/outcomes.ts";
import { answersInReadme, type Ask, Questioner } from "./questioner.ts";
import { askAboutTenants } from "./questions_of_tenants.ts";
import { askAboutWork } from "./questions_of_work.ts";
import { makeWorld } from "./questions_world.ts";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole({}, { inThisProcess: true });
const w = await makeWorld(t);
const answers = await answersInReadme();
const asked = new Set<string>();

const ask: Ask = (question, find, by = w.admin) => {
  asked.add(question);
  inBrowser(question, async (browser) => {
    const viewing = await openConsole(browser, t, by);
    const q = new Questioner(viewing.page, t.url);
    await q.begin();
    await find(q);
    assert.deepEqual(q.row, answers.get(question), "the row of routes/console/README.md");
    await viewing.close();
  });
};
const read = (path: string, by = w.zora) => accepted(by.get(`/api/v1/${path}`));

askAboutWork({ ask, read, w });
askAboutTenants({ ask, read, w });

/** These questions need no script of a page, so a test of the gate asks them. */
const IN_GATE: Record<string, [file: string, test: string]> = {
  "Is it healthy, and what changed in the last hour?": [
    "overview",
    "the overview leads from a problem to its page",
  ],
  "Which worker on which host holds a job?": ["jobs", "workers are shown by host with what they hold"],
  "Who is affected if a permission leaves a role?": [
    "access",
    "before a role is saved, the page shows who gains",
  ],
  "Invite a user; send the invitation again; revoke it": [
    "access_users",
    "an administrator invites a person",
  ],
  "Give a tenant's administrator a restricted console": [
    "access_users",
    "an administrator creates a user with a role",
  ],
  "See the product as a user": ["acting", "a supporter views the console as a user"],
  "Undo what I just did": ["undo", "what is paused, held, deactivated or given is as before"],
  "Work in a tenant as an administrator of the platform": [
    "scope",
    "an administrator finds a tenant among many",
  ],
  "Why can a file not be downloaded?": ["files", "the page of a file with malware says what was found"],
  "Put a legal hold on a file; release it": ["files", "references and a legal hold are explained"],
  "Compare two versions of a template; restore one": ["templates", "versions of a template are compared"],
  "Why did a scheduled report not arrive? Deliver it again": [
    "reports",
    "a report that was not delivered leads from",
  ],
  "Redeliver all failed webhook deliveries of yesterday": [
    "integration",
    "all failed deliveries of yesterday",
  ],
  "Download a filtered list as CSV": ["lists", "a list is downloaded as CSV with its filters"],
  "How much does each tenant store, and how fast does it grow?": [
    "../operations/usage",
    "what a tenant uses is counted",
  ],
  "How many mails did each tenant send in a month?": ["../operations/usage", "what a tenant uses is counted"],
  "What fills the database?": ["../operations/usage", "the state of the database names its largest tables"],
};

Deno.test("the README of the console has the ways to these forty answers and to no others", async () => {
  for (const [file, test] of Object.values(IN_GATE)) {
    const source = await Deno.readTextFile(new URL(`${file}_test.ts`, import.meta.url));
    assert.ok(source.includes(`Deno.test("${test}`), `${file}: ${test}`);
  }
  assert.deepEqual(new Set(answers.keys()), asked.union(new Set(Object.keys(IN_GATE))));
  assert.equal(answers.size, 40);
});
