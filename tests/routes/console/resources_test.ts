import assert from "node:assert/strict";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();

const tenantId = await t.tenant();
const manager = await t.actor({ tenantId, permissions: ["manage:applications", "manage:settings"] });
const visitor = await t.actor({ tenantId, role: "Visitor" });

inBrowser(
  "an application is created, a duplicate is refused, it is changed, deleted and listed among the deleted",
  async (b) => {
    const viewing = await openConsole(b, t, manager);
    const { page } = viewing;
    const make = async () => {
      await viewing.open("applications/new");
      await page.getByLabel("Code").fill("shop");
      await page.getByLabel("Name").fill("<i>Loja</i>");
      await page.getByRole("button", { name: "Create" }).click();
    };
    await make();
    await page.getByText("<i>Loja</i> was created.").waitFor();
    await make();
    await page.getByText("APPLICATION_ALREADY_EXISTS").waitFor();
    assert.equal(await page.getByLabel("Name").inputValue(), "<i>Loja</i>");
    viewing.forgive();
    await viewing.open("applications?search=loja&sortBy=name");
    await page.getByRole("link", { name: "<i>Loja</i>" }).click();
    await page.getByLabel("Active").uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("<i>Loja</i> was saved.").waitFor();
    await page.getByLabel("Status").selectOption("false");
    await page.waitForURL("**/applications?*isActive=false*");
    await page.getByRole("link", { name: "<i>Loja</i>" }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.locator("dialog[open] [data-confirm-yes]").click();
    await page.getByText("<i>Loja</i> was deleted.").waitFor();
    await page.getByText("No applications yet").waitFor();
    await page.getByLabel("Show").selectOption("true");
    await page.getByText("Deleted", { exact: true }).waitFor();
    assert.equal(await page.getByRole("link", { name: "<i>Loja</i>" }).count(), 0, "nothing is left to open");
    await viewing.close();
  },
);

inBrowser("a setting keeps its text as typed, and a concurrent change is not overwritten", async (b) => {
  const viewing = await openConsole(b, t, manager);
  const { page } = viewing;
  await viewing.open("settings/new");
  await page.getByLabel("Key").fill("branding.color");
  await page.getByLabel("Value").fill("  two\n  lines ");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("branding.color was created.").waitFor();
  const [setting] = (await manager.get("/api/v1/settings")).body.items;
  assert.equal(setting.value, "  two\n  lines ");
  await page.getByRole("link", { name: "branding.color" }).click();
  await page.getByLabel("Value").fill("mine");
  const theirs = { key: "branding.color", value: "theirs" };
  assert.equal((await manager.put(`/api/v1/settings/${setting.id}`, theirs)).status, 200);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("PRECONDITION_FAILED").waitFor();
  assert.equal(await page.getByLabel("Value").inputValue(), "mine");
  viewing.forgive();
  await viewing.close();
});

inBrowser("viewers without permission can read them, and a forced form is refused", async (b) => {
  await manager.post("/api/v1/settings", { key: "read.me", value: "x" });
  const [setting] = (await manager.get("/api/v1/settings?search=read.me")).body.items;
  const viewing = await openConsole(b, t, visitor);
  const { page } = viewing;
  await viewing.open("settings");
  assert.equal(await page.getByRole("link", { name: "New setting" }).count(), 0);
  await page.getByRole("link", { name: "read.me" }).click();
  await page.getByRole("heading", { name: "read.me" }).waitFor();
  assert.equal(await page.getByLabel("Value").isDisabled(), true);
  assert.equal(await page.getByRole("button", { name: "Save" }).count(), 0);
  const csrf = await page.locator("main input[name=csrf]").first().inputValue();
  const headers = { origin: t.url };
  const forced = await viewing.page.request.post(`${t.url}/console/settings/${setting.id}`, {
    headers,
    form: { csrf, key: "read.me", value: "forced" },
    maxRedirects: 0,
  });
  assert.equal(forced.status(), 303);
  for (const path of ["settings/new", "applications/new", `settings/${setting.id}/delete`]) {
    const answer = await viewing.page.request.post(`${t.url}/console/${path}`, { headers, form: { csrf } });
    assert.equal(answer.status(), 403, path);
  }
  assert.equal((await manager.get(`/api/v1/settings/${setting.id}`)).body.value, "x");
  await viewing.close();
});

inBrowser("the pages show only the viewer's tenant", async (b) => {
  await manager.post("/api/v1/settings", { key: "own", value: "v" });
  const admin = await t.actor({ role: "Admin" });
  for (const actor of [t.systemAdmin, admin, await t.actor({ permissions: [] })]) {
    const viewing = await openConsole(b, t, actor);
    assert.equal(await viewing.open("settings"), 200);
    await viewing.page.getByText("No settings yet").waitFor();
    await viewing.close();
  }
  const answer = await fetch(`${t.url}/console/settings`, { redirect: "manual" });
  await answer.body?.cancel();
  assert.equal(answer.status, 303);
});
