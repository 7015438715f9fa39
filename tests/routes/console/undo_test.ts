import assert from "node:assert/strict";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();

const tenantId = await t.tenant();
const manager = await t.actor({ tenantId, permissions: ["manage:settings"] });
const admin = await t.actor({ tenantId, role: "Admin" });

const settingOf = async (key: string) => (await manager.get(`/api/v1/settings?search=${key}`)).body.items[0];

inBrowser("a changed setting is changed back, and a deleted one is there again", async (b) => {
  await manager.post("/api/v1/settings", { key: "undo.me", value: " first\nline " });
  const { id } = await settingOf("undo.me");
  const viewing = await openConsole(b, t, manager);
  const { page } = viewing;
  await viewing.open(`settings/${id}`);
  await page.getByLabel("Value").fill("second");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("undo.me was saved.").waitFor();
  await viewing.requireAccessible();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("The change was undone.").waitFor();
  assert.equal((await settingOf("undo.me")).value, " first\nline ");
  assert.equal(await page.getByRole("button", { name: "Undo" }).count(), 0, "an undone action is not undone");

  await viewing.open(`settings/${id}`);
  await page.getByRole("button", { name: "Delete" }).click();
  await page.locator("dialog[open] [data-confirm-yes]").click();
  await page.getByText("undo.me was deleted.").waitFor();
  assert.equal(await settingOf("undo.me"), undefined);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("The change was undone.").waitFor();
  assert.equal((await settingOf("undo.me")).value, " first\nline ");
  await viewing.close();
});

inBrowser("nothing is undone if someone else has changed it meanwhile", async (b) => {
  await manager.post("/api/v1/settings", { key: "contested", value: "one" });
  const { id } = await settingOf("contested");
  const viewing = await openConsole(b, t, manager);
  const { page } = viewing;
  await viewing.open(`settings/${id}`);
  await page.getByLabel("Value").fill("two");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("contested was saved.").waitFor();
  const theirs = { key: "contested", value: "theirs" };
  assert.equal((await manager.put(`/api/v1/settings/${id}`, theirs)).status, 200);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Nothing was undone: it was changed in the meantime.").waitFor();
  assert.equal((await settingOf("contested")).value, "theirs");
  await viewing.close();
});

inBrowser("a change of roles and a deactivation of a tenant are undone", async (b) => {
  const person = await t.actor({ tenantId, role: "Visitor" });
  const rolesOf = async () =>
    (await admin.get(`/api/v1/users/${person.userId}/roles`)).body.map(({ name }: { name: string }) => name);
  const viewing = await openConsole(b, t, admin);
  const { page } = viewing;
  await viewing.open(`users/${person.userId}/roles`);
  await page.getByLabel("Visitor").uncheck();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Undo" }).waitFor();
  assert.deepEqual(await rolesOf(), []);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("The change was undone.").waitFor();
  assert.deepEqual(await rolesOf(), ["Visitor"]);
  await viewing.close();

  const other = await t.tenant();
  const isActive = async () => (await t.systemAdmin.get(`/api/v1/tenants/${other}`)).body.isActive;
  const platform = await openConsole(b, t, t.systemAdmin);
  await platform.open(`tenants/${other}`);
  await platform.page.getByRole("button", { name: "Deactivate" }).click();
  await platform.page.locator("dialog[open] [data-confirm-yes]").click();
  await platform.page.getByRole("button", { name: "Undo" }).waitFor();
  assert.equal(await isActive(), false);
  await platform.page.getByRole("button", { name: "Undo" }).click();
  await platform.page.getByText("The change was undone.").waitFor();
  assert.equal(await isActive(), true);
  await platform.close();
});

inBrowser("a form with another call than the one that was offered does nothing", async (b) => {
  await manager.post("/api/v1/settings", { key: "forged", value: "one" });
  const { id } = await settingOf("forged");
  const viewing = await openConsole(b, t, manager);
  const { page } = viewing;
  await viewing.open(`settings/${id}`);
  const csrf = await page.locator("main input[name=csrf]").first().inputValue();
  const call = btoa(
    JSON.stringify({ operation: "deleteSetting", input: { params: { id } }, goTo: "settings" }),
  );
  for (const undo of [call, `${call}.`, `${call}.${"A".repeat(43)}`, ""]) {
    const answer = await page.request.post(`${t.url}/console/undo`, {
      headers: { origin: t.url },
      form: { csrf, undo },
    });
    assert.match(await answer.text(), /Nothing was undone/);
  }
  assert.equal((await settingOf("forged")).value, "one");
  await viewing.close();
});
