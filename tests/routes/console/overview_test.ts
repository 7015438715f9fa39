import assert from "node:assert/strict";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();

inBrowser("a viewer without permissions sees no problems and no data of others", async (b) => {
  const viewing = await openConsole(b, t, await t.actor());
  const { page } = viewing;
  await viewing.open("");
  await page.getByText("No problems.").waitFor();
  await page.getByText("No waiting or running jobs").waitFor();
  for (const part of ["Scanner", "Messages of the last 24 hours", "Instances"]) {
    assert.equal(await page.getByRole("heading", { name: part }).count(), 0, part);
  }
  await viewing.requireAccessible();
  await viewing.close();
});

inBrowser("a viewer without a tenant is asked to choose one", async (b) => {
  const viewing = await openConsole(b, t, await t.actor({ global: true }));
  await viewing.open("");
  await viewing.page.getByText("Choose a tenant", { exact: true }).waitFor();
  await viewing.requireAccessible();
  await viewing.close();
});

inBrowser(
  "a tenant's administrator sees problems with links to their pages; the overview refreshes",
  async (b) => {
    const actor = await t.actor({ role: "Admin" });
    const viewing = await openConsole(b, t, actor, { theme: "dark" });
    const { page } = viewing;
    await viewing.open("");
    await page.getByRole("heading", { name: "Scanner" }).waitFor();
    const { body } = await actor.post("/api/v1/jobs", {
      jobTypeName: "steward.fail",
      serializedArgs: "{}",
      maxRetries: 0,
    });
    await t.settled(body.id);
    await page.getByRole("link", { name: "1 dead letter is open. Retry or purge it." }).waitFor();
    await viewing.requireAccessible();
    await page.getByRole("link", { name: "Last day" }).click();
    await page.waitForURL("**/?window=day");
    await page.getByRole("img", { name: /day, by hour/ }).waitFor();
    await page.getByRole("link", { name: "1 dead letter is open. Retry or purge it." }).click();
    await page.waitForURL("**/dead-letters");
    await viewing.close();
  },
);

inBrowser("a system administrator sees the instances too, on a phone and in Portuguese", async (b) => {
  const viewing = await openConsole(b, t, t.systemAdmin, { phone: true, locale: "pt-PT" });
  const { page } = viewing;
  await viewing.open("");
  await page.getByRole("heading", { name: "Instâncias" }).waitFor();
  await page.getByRole("region", { name: "Instâncias que executam tarefas" }).waitFor();
  await viewing.requireNoSidewaysScroll();
  await viewing.requireAccessible();
  await viewing.close();
});

inBrowser(
  "failed and dead-lettered messages are counted separately, each with a link",
  async (b) => {
    const actor = await t.actor({ permissions: ["send:notifications"] });
    const { sql } = t.steward.platform;
    for (const [status, count] of [["Failed", 1], ["DeadLettered", 2]] as const) {
      for (let n = 0; n < count; n++) {
        const { body } = await actor.post("/api/v1/notifications/schedule", {
          notification: {
            channel: "Email",
            recipients: [{ address: "a@example.com" }],
            textBody: "x",
            subject: `${status} ${n}`,
          },
          scheduledAt: "2999-01-01T00:00:00Z",
        });
        await sql`update notifications set status = ${status}::text::notification_status
        where id = ${body.notificationId}`;
      }
    }
    const viewing = await openConsole(b, t, actor);
    const { page } = viewing;
    const shown = async () => {
      await page.getByRole("table", { name: /Messages sent by this tenant/ }).waitFor();
      const links = await page.locator("main table a").allTextContents();
      return links.map((text) => text.trim()).filter((text) => / \d$/.test(text)).sort();
    };
    await viewing.open("");
    await page.getByRole("link", { name: "2 messages were dead-lettered in the last 24 hours." }).click();
    assert.deepEqual(await shown(), ["DeadLettered 0", "DeadLettered 1"]);
    await viewing.open("");
    await page.getByRole("link", { name: "1 message failed in the last 24 hours" }).click();
    assert.deepEqual(await shown(), ["Failed 0"]);
    await viewing.open("");
    await page.getByRole("link", { name: "Dead-lettered 2" }).click();
    assert.deepEqual(await shown(), ["DeadLettered 0", "DeadLettered 1"]);
    await viewing.open("");
    await page.getByRole("link", { name: "Failed 1" }).click();
    assert.deepEqual(await shown(), ["Failed 0"]);
    await viewing.close();
  },
);

inBrowser(
  "a paused queue shows its reason and is resumed with a button, in English and Portuguese",
  async (b) => {
    const actor = await t.actor({ permissions: ["manage:jobs"] });
    const reader = await t.actor({ tenantId: actor.tenantId ?? "" });
    await actor.post("/api/v1/jobs/queues/mail/pause", { reason: "The provider is down" });
    const reading = await openConsole(b, t, reader);
    await reading.open("");
    await reading.page.getByRole("region", { name: /Paused queues/ }).getByText("The provider is down")
      .waitFor();
    assert.equal(await reading.page.getByRole("button", { name: "Resume" }).count(), 0);
    await reading.close();
    const viewing = await openConsole(b, t, actor, { locale: "pt-PT" });
    const { page } = viewing;
    await viewing.open("");
    await page.getByText("A fila mail está em pausa.").waitFor();
    await page.getByText("Em pausa", { exact: true }).waitFor();
    await viewing.requireAccessible();
    await page.getByRole("button", { name: "Retomar" }).click();
    await page.getByText("A fila foi retomada.").waitFor();
    assert.deepEqual((await actor.get("/api/v1/jobs/queues")).body, []);
    await viewing.close();
  },
);
