import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { browseAt } from "./plain_browser.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());

Deno.test("an administrator sets who may join the tenant by themselves", async () => {
  const admin = await t.actor({ permissions: ["read:tenants", "update:tenants", "read:roles"] });
  const browser = await browseAt(t, admin, "tenants");
  await browser.follow("Registration");
  const wrong = await browser.press("Save", { "Who may join": "domain" });
  assert.equal(wrong.shows("expected at least one domain in mode domain").status, 400);
  await browser.press("Save", {
    "Who may join": "domain",
    "Email domains": "Example.com\nexample.org",
    "Role of new users": admin.roleId ?? "",
  });
  browser.page.shows("The registration settings were saved.", "example.com example.org");
  const { mode, domains } = (await admin.get("/api/v1/registration-settings")).body;
  assert.deepEqual([mode, domains], ["domain", ["example.com", "example.org"]]);
});

Deno.test("the directory page shows where a directory connects, and maps its groups to roles", async () => {
  const browser = await browseAt(t, await t.actor({ role: "Admin" }), "tenants/directory");
  browser.page.shows(`${t.url}/scim/v2`);
  await browser.follow("Edit", "Visitor");
  await browser.press("Save", {
    "Group in the directory": "SG-Readers",
    "The directory sees this role": false,
  });
  browser.page.shows("The group was saved.", "SG-Readers Hidden");
});
