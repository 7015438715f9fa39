import assert from "node:assert/strict";
import type { Actor } from "../../support/setup.ts";
import { CSV, downloadUrl, reached, STATUS } from "../reports/support.ts";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();

inBrowser(
  "a report form shows errors, then generates a report that is followed to its end and downloaded",
  async (b) => {
    const actor = await t.actor({ role: "Admin" });
    const viewing = await openConsole(b, t, actor);
    const { page } = viewing;
    await viewing.open("reports");
    await page.locator("main").getByRole("link", { name: "Audit log", exact: true }).click();
    await page.getByLabel("Actor").fill("not an id");
    await page.getByLabel("Action", { exact: true }).fill("<b>user.update</b>");
    await page.getByLabel("Format").selectOption("CSV");
    await page.getByRole("button", { name: "Generate" }).click();
    await page.locator(".has-error", { hasText: "Actor" }).locator(".error").waitFor();
    assert.equal(await page.getByLabel("Actor").getAttribute("aria-invalid"), "true");
    assert.equal(await page.getByLabel("Action", { exact: true }).inputValue(), "<b>user.update</b>");
    viewing.forgive();
    await viewing.requireAccessible();
    await page.getByLabel("Actor").fill(actor.userId);
    await page.getByLabel("Method").selectOption("To storage");
    await page.getByLabel("Path").fill("console/{executionId}.csv");
    await page.getByLabel("When").selectOption({ index: 1 });
    await page.getByRole("button", { name: "Generate" }).click();
    await page.getByText("Delivery and bursting work only in the background.").first().waitFor();
    viewing.forgive();
    await page.getByLabel("When").selectOption({ index: 0 });
    await page.getByRole("button", { name: "Generate" }).click();
    await page.waitForURL(/report-runs\/[0-9a-f-]{36}$/);
    await page.locator("#run .notice-title", { hasText: "Delivered" }).waitFor();
    const id = page.url().slice(-36);
    await page.getByText(`console/${id}.csv`).waitFor();
    await viewing.requireAccessible();
    await downloadUrl(actor, id);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: /^Download/ }).click(),
    ]);
    assert.match(download.suggestedFilename(), /^audit-log-.*\.csv$/);
    assert.match(await Deno.readTextFile(await download.path()), /^\ufeff?at,|^\ufeff?"?At/i);
    await page.getByRole("link", { name: "Generate again" }).click();
    assert.equal(await page.getByLabel("Actor").inputValue(), actor.userId);
    await viewing.open(`report-runs/${id}`);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.locator("dialog[open] [data-confirm-yes]").click();
    await page.getByText("The report was deleted.").waitFor();
    await page.getByText("No report runs yet").waitFor();
    await viewing.close();
  },
);

inBrowser("a document can be downloaded only after its scan", async (b) => {
  const actor = await t.actor({ role: "Admin" });
  const viewing = await openConsole(b, t, actor);
  const { page } = viewing;
  const { scanner } = t.steward.platform;
  const { scan } = scanner;
  const scanned = Promise.withResolvers<void>();
  scanner.scan = async (content, o) => {
    const verdict = await scan(content, o);
    await scanned.promise;
    return verdict;
  };
  const { body } = await actor.post("/api/v1/reports/generate", { templateId: "users", format: CSV });
  const path = `/api/v1/reports/${body.id}`;
  assert.equal((await actor.get(path)).body.fileStatus, "Scanning");
  await viewing.open(`report-runs/${body.id}`);
  const download = page.getByRole("link", { name: /^Download/ });
  await page.locator("#run .notice", { hasText: "It is being scanned." }).waitFor();
  assert.equal(await download.count(), 0);
  scanner.scan = scan;
  scanned.resolve();
  await download.waitFor();
  await page.locator("#run .notice", { hasText: "You can download it." }).waitFor();
  assert.equal((await actor.get(path)).body.fileStatus, "Available");
  await viewing.close();
});

inBrowser("a run is followed until its deliveries are recorded as its status", async (b) => {
  const actor = await t.actor({ role: "Admin" });
  const viewing = await openConsole(b, t, actor);
  const { page } = viewing;
  const { body: { id } } = await actor.post("/api/v1/reports/generate-async", {
    templateId: "users",
    format: CSV,
    delivery: { method: 3, targetPath: "followed.csv" },
  });
  await reached(actor, id, STATUS.Delivered);
  const { sql } = t.steward.platform;
  const setStatus = (status: number) => sql`update report_executions set status = ${status} where id = ${id}`;
  await setStatus(STATUS.Completed);
  await viewing.open(`report-runs/${id}`);
  await page.locator("#run .badge", { hasText: "Delivered" }).waitFor();
  await setStatus(STATUS.Delivered);
  await page.locator("#run .notice-title", { hasText: "Delivered" }).waitFor();
  await viewing.close();
});

inBrowser("a schedule is created, runs, is paused, changed and deleted", async (b) => {
  const actor = await t.actor({ role: "Admin" });
  const viewing = await openConsole(b, t, actor);
  const { page } = viewing;
  await viewing.open("report-schedules/new");
  await page.locator("main").getByRole("link", { name: "Users", exact: true }).click();
  await page.getByLabel("Name").fill("Monday’s users <i>");
  await page.getByLabel("Format").selectOption("CSV");
  await page.getByLabel("Repeats").selectOption("cron");
  await page.getByLabel("Cron expression").fill("61 8 * * 1");
  await page.locator("#next-runs", { hasText: "61 8 * * 1" }).waitFor();
  await page.getByRole("button", { name: "Create" }).click();
  await page.locator(".has-error", { hasText: "Cron expression" }).waitFor();
  viewing.forgive();
  await viewing.requireAccessible();
  await page.getByLabel("Cron expression").fill("30 8 * * 1");
  await page.locator("#next-runs li").nth(4).waitFor();
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("The schedule was created.").waitFor();
  assert.equal(await page.getByRole("heading", { level: 1 }).textContent(), "Monday’s users <i>");
  const id = page.url().slice(-36);
  await page.getByRole("button", { name: "Run now" }).click();
  await page.locator("#schedule table .badge", { hasText: "Completed" }).waitFor();
  await viewing.requireAccessible();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText("The schedule is paused.").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByText("The schedule runs again.").waitFor();
  await page.getByRole("link", { name: "Edit" }).click();
  assert.equal(await page.getByLabel("Cron expression").inputValue(), "30 8 * * 1");
  await page.getByLabel("Active").selectOption("Yes");
  await page.getByLabel("Method").selectOption("By email");
  await page.getByLabel("Recipients").fill("ana@example.test\nrui@example.test");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("The schedule was saved.").waitFor();
  const { body } = await actor.get(`/api/v1/reports/schedules/${id}`);
  assert.equal(JSON.parse(body.parametersJson).isActive, true);
  assert.deepEqual(JSON.parse(body.deliveryOptionsJson).recipients, ["ana@example.test", "rui@example.test"]);
  await page.getByRole("link", { name: "Edit" }).click();
  await actor.put(`/api/v1/reports/schedules/${id}`, { description: "changed elsewhere" });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Someone else changed this while you were editing").waitFor();
  viewing.forgive();
  await viewing.open(`report-schedules/${id}`);
  await page.getByRole("button", { name: "Delete" }).click();
  await page.locator("dialog[open] [data-confirm-yes]").click();
  await page.getByText("The schedule was deleted.").waitFor();
  await page.getByText("No schedules yet").waitFor();
  await viewing.close();
});

inBrowser(
  "a burst generates one document per value, in Portuguese, in the dark theme and on a phone",
  async (b) => {
    const actor = await t.actor({ role: "Admin" });
    const viewing = await openConsole(b, t, actor, { locale: "pt-PT", theme: "dark", phone: true });
    const { page } = viewing;
    await viewing.open("reports/users");
    await viewing.requireNoSidewaysScroll();
    await page.getByText("Divisão: um documento").click();
    await page.getByLabel("Parâmetro", { exact: true }).selectOption("roleName");
    await page.getByLabel("Valores").fill("Admin\nAdmin");
    await page.getByRole("button", { name: "Gerar" }).click();
    await page.locator(".error", { hasText: "linha" }).waitFor();
    viewing.forgive();
    await viewing.requireAccessible();
    await page.getByLabel("Valores").fill("Admin\nVisitor");
    await page.getByLabel("Formato").selectOption("CSV");
    await page.getByRole("button", { name: "Gerar" }).click();
    await page.waitForURL(/report-runs\?burstId=/);
    await page.locator("#runs tbody .badge", { hasText: "Concluído" }).nth(1).waitFor();
    await viewing.requireAccessible();
    await viewing.requireNoSidewaysScroll();
    await page.getByRole("link", { name: "Users: Visitor" }).click();
    await page.getByText("Todas as execuções da divisão").waitFor();
    await viewing.requireNoSidewaysScroll();
    await viewing.close();
  },
);

inBrowser(
  "each viewer sees the reports their permissions allow, and nothing of another tenant",
  async (b) => {
    const owner = await t.actor({ role: "Admin" });
    const tenantId = owner.tenantId ?? "";
    const { body } = await owner.post("/api/v1/reports/generate-async", { templateId: "users", format: CSV });
    await reached(owner, body.id, STATUS.Completed);
    const look = async (actor: Actor) => {
      const viewing = await openConsole(b, t, actor);
      await viewing.open("reports");
      const users = viewing.page.locator("main").getByRole("link", { name: "Users", exact: true });
      const seesUsers = await users.count() === 1;
      const history = await viewing.open(`report-runs/${body.id}`);
      const schedules = await viewing.open("report-schedules");
      viewing.forgive();
      await viewing.requireAccessible();
      await viewing.close();
      return { seesUsers, history, schedules };
    };
    const nothing = { seesUsers: false, history: 403, schedules: 200 };
    const reader = { seesUsers: true, history: 200, schedules: 200 };
    assert.deepEqual(await look(await t.actor({ permissions: [], tenantId })), nothing);
    assert.deepEqual(await look(await t.actor({ role: "Visitor", tenantId })), reader);
    assert.deepEqual(await look(owner), reader);
    assert.deepEqual(await look(await t.actor({ role: "Admin" })), { ...reader, history: 404 });
    assert.deepEqual(await look(t.systemAdmin), { ...reader, history: 404 });
  },
);
