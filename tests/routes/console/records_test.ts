import assert from "node:assert/strict";
import { accepted } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { browse, browseAt } from "./plain_browser.ts";

const t = await setupShared();

const managing = { permissions: ["manage:applications", "manage:settings"] };
const manager = await t.actor(managing);
const settingOf = async (key: string) => (await manager.get(`/api/v1/settings?search=${key}`)).body.items[0];

Deno.test("an application is created, a duplicate is refused, it is changed, deleted and listed among the deleted", async () => {
  const browser = await browse(t, manager);
  const make = async () => {
    await browser.visit("applications/new");
    return await browser.press("Create", { Code: "shop", Name: "<i>Loja</i>" });
  };
  (await make()).shows("<i>Loja</i> was created.");
  assert.equal((await make()).shows("APPLICATION_ALREADY_EXISTS").value("Name"), "<i>Loja</i>");
  await browser.visit("applications?search=loja&sortBy=name");
  await browser.follow("<i>Loja</i>");
  (await browser.press("Save", { Active: false })).shows("<i>Loja</i> was saved.");
  await browser.press("Filter", { Active: "false" });
  await browser.follow("<i>Loja</i>");
  (await browser.press("Delete")).shows("<i>Loja</i> was deleted.", "No applications yet");
  await browser.press("Filter", { Show: "true" });
  assert.ok(!browser.page.shows("Deleted").offers.includes("<i>Loja</i>"), "nothing is left to open");
});

Deno.test("a setting keeps its text as typed, and a concurrent change is not overwritten", async () => {
  const browser = await browseAt(t, manager, "settings/new");
  const value = "  two\n  lines ";
  (await browser.press("Create", { Key: "branding.color", Value: value })).shows(
    "branding.color was created.",
  );
  const setting = await settingOf("branding.color");
  assert.equal(setting.value, value);
  await browser.visit(`settings/${setting.id}`);
  const theirs = { key: "branding.color", value: "theirs" };
  assert.equal((await manager.put(`/api/v1/settings/${setting.id}`, theirs)).status, 200);
  const stale = await browser.press("Save", { Value: "mine" });
  assert.equal(stale.shows("PRECONDITION_FAILED").value("Value"), "mine");
});

Deno.test("a changed or deleted setting is restored once by Undo, unless it was changed meanwhile or the call was not offered", async () => {
  const setting = { key: "undo.me", value: " first\nline " };
  const { id } = await accepted(manager.post("/api/v1/settings", setting), 201);
  const browser = await browseAt(t, manager, `settings/${id}`);
  (await browser.press("Save", { Value: "second" })).shows("undo.me was saved.");
  (await browser.press("Undo")).shows("The change was undone.").lacks("Undo"); // an undone action is not undone
  assert.equal((await settingOf("undo.me")).value, " first\nline ");
  await browser.visit(`settings/${id}`);
  (await browser.press("Delete")).shows("undo.me was deleted.");
  assert.equal(await settingOf("undo.me"), undefined);
  (await browser.press("Undo")).shows("The change was undone.");
  const restored = await settingOf("undo.me");
  assert.equal(restored.value, " first\nline ");
  await browser.visit(`settings/${restored.id}`);
  await browser.press("Save", { Value: "two" });
  await accepted(manager.put(`/api/v1/settings/${restored.id}`, { key: "undo.me", value: "theirs" }));
  (await browser.press("Undo")).shows("Nothing was undone: it was changed in the meantime.");
  const input = { params: { id: restored.id } };
  const call = btoa(JSON.stringify({ operation: "deleteSetting", input, goTo: "settings" }));
  for (const undo of [call, `${call}.`, `${call}.${"A".repeat(43)}`, ""]) {
    (await browser.force("undo", { undo })).shows("Nothing was undone");
  }
  assert.equal((await settingOf("undo.me")).value, "theirs");
});

Deno.test("a page's form may contain an import file, but nothing larger", async () => {
  const browser = await browse(t, manager);
  const send = async (bytes: number) => {
    const fields = { do: "profile", firstName: "Ana", filler: "a".repeat(bytes) };
    return (await browser.submit("account", fields)).location;
  };
  assert.equal(await send(11 * 1024 * 1024), "/console/account");
  assert.equal(await send(13 * 1024 * 1024), "/console/");
});
