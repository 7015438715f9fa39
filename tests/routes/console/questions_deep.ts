// Forty questions of an operator. The README of the console has the way to each answer.
import assert from "node:assert/strict";
import { accepted } from "../../support/outcomes.ts";
import { answersInReadme, type Ask, Questioner } from "./questioner.ts";
import { askAboutTenants } from "./questions_of_tenants.ts";
import { askAboutWork } from "./questions_of_work.ts";
import { makeWorld } from "./questions_world.ts";
import { openConsole, setupConsole } from "./support.ts";

const receiver = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () => new Response("ok"));
const { t, inBrowser } = await setupConsole({ OUTBOUND_ALLOW: "127.0.0.1" }, { inThisProcess: true });
Deno.test.afterAll(() => receiver.shutdown());
const w = await makeWorld(t, `http://127.0.0.1:${receiver.addr.port}`);
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

Deno.test("the README of the console has the ways to these forty answers and to no others", () => {
  assert.deepEqual(new Set(answers.keys()), asked);
  assert.equal(asked.size, 40);
});
