import { chromiumInstalled, openBrowser } from "../../support/chromium.ts";
import { setup } from "../../support/setup.ts";
import { type Looks, openConsole } from "./support.ts";

const t = await setup();
const browser = await openBrowser();
Deno.test.afterAll(async () => {
  await browser?.close();
  await t.stop();
});

const LOOKS: [string, Looks][] = [
  ["dark, in Portuguese", { theme: "dark", locale: "pt-PT" }],
  ["light, on a phone", { phone: true }],
];

const group = await t.tenant({
  name: "Grupo com um nome muito comprido, Sociedade Gestora, S.A.",
  type: "Group",
});
const child = await t.tenant({ name: "日本支社", parentTenantId: group });
const user = await t.actor({ role: "Visitor", tenantId: child });
const role = await t.systemAdmin.post("/api/v1/roles", {
  name: "Um papel com um nome comprido",
  permissionIds: [],
});

for (const [name, looks] of LOOKS) {
  Deno.test({
    name: `the pages of access can be used by everyone: ${name}`,
    ignore: !chromiumInstalled,
    async fn() {
      if (!browser) return;
      const viewing = await openConsole(browser, t, t.systemAdmin, looks);
      for (
        const address of [
          "users",
          `users/${user.userId}`,
          `users/${user.userId}/edit`,
          "users/new",
          "roles",
          `roles/${role.body.id}`,
          `roles/${role.body.id}/edit`,
          "roles/matrix",
          "permissions",
          "tenants",
          "tenants?view=tree",
          `tenants/${group}`,
          `explain-access?userId=${user.userId}&permission=read:users&tenantId=${child}`,
          "audit",
        ]
      ) {
        await viewing.open(address);
        for (const summary of await viewing.page.locator(".audit summary").all()) await summary.click();
        // The document is the same on a phone: what its style makes of it is tried where it differs most.
        if (!looks.phone || /^(users|audit|permissions)$/.test(address)) await viewing.requireAccessible();
        await viewing.requireNoSidewaysScroll();
      }
      await viewing.close();
    },
  });
}
