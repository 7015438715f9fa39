import assert from "node:assert/strict";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import type { Actor } from "../../support/setup.ts";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();

Deno.test("an id that is not a UUID gives the not-found page", async () => {
  const addresses = {
    SystemAdmin: [
      "users/7",
      "users/7/edit",
      "users/7/links",
      "users/7/data",
      "permissions/x/default-roles",
      "tenants/x/edit",
      "explain-access?userId=x",
      "jobs/1",
      "dead-letters/x",
      "applications/x",
    ],
    Admin: [
      "users/7",
      "users/7/roles",
      "user-imports/x",
      "explain-access?userId=x",
      "roles/abc",
      "roles/abc/edit",
      "tenants/x",
      "files/x",
      "notifications/x",
      "report-runs/x",
    ],
  };
  for (const role of ["SystemAdmin", "Admin"] as const) {
    const secret = await openBrowserSession(t.steward.platform, (await t.actor({ role })).token ?? "");
    for (const address of addresses[role]) {
      const page = await fetch(`${t.url}/console/${address}`, {
        headers: { cookie: `steward_console=${secret}` },
      });
      const text = await page.text();
      assert.deepEqual([address, page.status], [address, 404]);
      assert.match(text, /<h1[^>]*>Not found<\/h1>/);
    }
  }
});

const PAGES = ["users", "roles", "permissions", "tenants", "explain-access", "audit"];

/** The status of the pages above for each kind of viewer, in the same order. */
const VIEWERS: [string, () => Promise<Actor>, number[]][] = [
  ["a system administrator", () => Promise.resolve(t.systemAdmin), [200, 200, 200, 200, 200, 200]],
  [
    "a system administrator without a tenant",
    () => t.actor({ role: "SystemAdmin", global: true }),
    [200, 403, 403, 403, 200, 200],
  ],
  ["a tenant's administrator", () => t.actor({ role: "Admin" }), [200, 200, 200, 200, 200, 200]],
  ["a visitor", () => t.actor({ role: "Visitor" }), [200, 200, 200, 200, 200, 200]],
  ["nobody with rights", () => t.actor({ permissions: [] }), [403, 403, 403, 403, 403, 403]],
];

for (const [who, make, expected] of VIEWERS) {
  inBrowser(`${who} is shown the pages of access they may read, and no others`, async (b) => {
    const viewing = await openConsole(b, t, await make());
    const found: number[] = [];
    for (const page of PAGES) {
      found.push(await viewing.open(page));
      const navigated = await viewing.page.locator(`nav.sections a[href="${page}"]`).count();
      assert.equal(navigated, found.at(-1) === 200 ? 1 : 0, `${page} in the navigation`);
    }
    viewing.forgive();
    assert.deepEqual(found, expected);
    await viewing.close();
  });
}

inBrowser("a visitor sees no actions they may not use, and is refused if they try", async (b) => {
  const visitor = await t.actor({ role: "Visitor" });
  const viewing = await openConsole(b, t, visitor);
  const { page } = viewing;
  for (
    const address of [
      `users`,
      `users/${visitor.userId}`,
      "roles",
      `roles/${visitor.roleId}`,
      "permissions",
      "tenants",
      `tenants/${visitor.tenantId}`,
    ]
  ) {
    assert.equal(await viewing.open(address), 200, address);
    assert.equal(await page.locator("main form[method=post]").count(), 0, `${address} offers an action`);
    const links = await page.locator("main a[href$='/edit'], main a[href$='/new'], main a[href$='import']")
      .count();
    assert.equal(links, 0, `${address} offers a change`);
  }
  for (
    const address of [
      "users/new",
      "roles/new",
      "permissions/import",
      "tenants/new",
      `users/${visitor.userId}/links`,
    ]
  ) {
    assert.equal(await viewing.open(address), 403, address);
  }
  await page.getByText(/^You need manage:all-users in (.+)\. Ask an administrator of \1 for a role/)
    .waitFor();
  viewing.forgive();
  await viewing.close();
});

inBrowser("a tenant's administrator sees only the users of their tenant", async (b) => {
  const [admin, foreign] = [await t.actor({ role: "Admin" }), await t.actor({ role: "Visitor" })];
  const viewing = await openConsole(b, t, admin);
  await viewing.open("users");
  await viewing.page.locator("main").getByText(admin.email).waitFor();
  assert.equal(await viewing.page.getByText(foreign.email).count(), 0);
  assert.equal(await viewing.open(`users/${foreign.userId}`), 404);
  assert.equal(await viewing.open(`roles/${foreign.roleId}`), 404);
  viewing.forgive();
  await viewing.close();
});

inBrowser("users are searched and filtered on the server, with the filters in the query", async (b) => {
  const admin = await t.actor({ role: "Admin" });
  const [visitor, inactive] = [
    await t.actor({ role: "Visitor", tenantId: admin.tenantId ?? "" }),
    await t.actor({ role: "Visitor", tenantId: admin.tenantId ?? "" }),
  ];
  await t.steward.platform.sql`update users set is_active = false where id = ${inactive.userId}`;
  const viewing = await openConsole(b, t, admin);
  const { page } = viewing;
  const rows = page.locator("#users-list tbody tr");
  await viewing.open("users?roleName=Visitor&sortBy=createdAt");
  assert.equal(await rows.count(), 2);
  await page.getByLabel("Status").selectOption("true");
  await page.waitForURL(/isActive=true/);
  await page.getByText(inactive.email).waitFor({ state: "detached" });
  assert.equal(await rows.count(), 1);
  await page.getByText(visitor.email).waitFor();
  await page.getByRole("searchbox").fill("nobody of this name");
  await page.getByText("Nothing matches these filters.").waitFor();
  await viewing.close();
});
