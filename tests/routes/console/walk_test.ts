import assert from "node:assert/strict";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import { accountPages } from "../../../routes/console/account/account.tsx";
import { sections } from "../../../routes/console/sections.ts";
import { makeSamples } from "./samples.ts";
import { type Looks, openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole({ OUTBOUND_ALLOW: "127.0.0.1" });

/** Console paths that return no page: a stream, downloads, and HTML for iframes. */
const NO_PAGES = [
  "inbox/stream",
  "files/{id}/download",
  "document-templates/{id}/versions/{version}/pdf",
  "first-steps/docs",
  "notifications/{id}/body",
  "notifications/people",
  "permissions/import/template",
  "report-runs/{id}/download",
  "templates/{id}/versions/{version}/body",
  "account/security/{id}/remove", // only for the owner of a factor; see security_test.ts
];
const samples = await makeSamples(t);

/**
 * The status of each page for five viewers: a system administrator, a tenant's Admin, a Visitor, a user without
 * permissions, and a system administrator without a tenant. 404: the object belongs to another tenant.
 */
const OPEN: Record<string, string[]> = {
  "200 200 200 200 200": [
    "account",
    "account/security",
    "account/security/app",
    "account/security/passkey",
    "step-up",
    "scope",
    "",
    "inbox",
    "jobs",
    "jobs/new",
    "jobs/{id}",
    "jobs/{id}/run-again",
    "job-types",
    "job-types/{name}",
    "recurring",
    "recurring/new/form",
    "recurring/{id}",
    "recurring/{id}/edit",
    "dead-letters",
    "dead-letters/list",
    "dead-letters/retry",
    "dead-letters/purge",
    "dead-letters/{id}",
    "preferences",
    "reports",
    "report-runs",
    "report-schedules",
    "report-schedules/new",
    "search",
  ],
  "200 200 200 200 403": [
    "looks",
    "applications",
    "applications/{id}",
    "settings",
    "settings/{id}",
  ],
  "200 200 200 403 200": [
    "users",
    "users/{id}",
    "explain-access",
    "audit",
  ],
  "200 200 200 403 403": [
    "files",
    "files/scanner",
    "files/{id}",
    "invitations",
    "roles",
    "roles/matrix",
    "roles/{id}",
    "permissions",
    "tenants",
  ],
  "200 200 200 403 404": [
    "report-runs/{id}",
    "report-runs/{id}/deliver",
    "report-schedules/{id}",
    "report-schedules/{id}/edit",
  ],
  "200 200 200 404 200": [
    "reports/{templateId}",
  ],
  "200 200 403 403 200": [
    "notifications",
    "notifications/send",
    "templates",
    "templates/new",
    "suppressions",
    "users/new",
    "users/{id}/edit",
  ],
  "200 200 403 403 403": [
    "files/upload",
    "senders",
    "user-imports",
    "user-imports/{id}",
    "users/{id}/roles",
    "roles/new",
    "roles/{id}/edit",
  ],
  "200 200 403 403 404": [
    "notifications/{id}",
    "templates/{id}",
    "templates/{id}/test",
    "templates/{id}/versions",
    "templates/{id}/versions/{version}",
    "invitations/new",
    "user-imports/new",
    "users/bring-in",
  ],
  "200 403 403 403 200": [
    "work-in/{id}",
    "first-steps",
    "queues/{queue}/pause",
    "job-types/{name}/pause",
    "workers",
    "report-targets/new",
    "users/{id}/links",
    "users/{id}/links/new",
    "users/{id}/data",
  ],
  "200 403 403 403 403": [
    "report-targets",
    "report-targets/{id}",
    "document-templates",
    "document-templates/new",
    "document-templates/{id}",
    "document-templates/{id}/versions",
    "document-templates/{id}/versions/{version}",
    "document-templates/{id}/generate",
    "permissions/new",
    "permissions/import",
    "permissions/{id}",
    "permissions/{id}/default-roles",
    "tenants/new",
    "tenants/{id}",
    "tenants/{id}/edit",
    "tenants/{id}/data",
    "applications/new",
    "settings/new",
    "api-keys",
    "api-keys/new",
    "service-accounts",
    "service-accounts/new",
    "oauth-clients",
    "oauth-clients/new",
    "oauth-clients/{id}",
    "oauth-clients/{id}/edit",
    "webhooks",
    "webhooks/new",
    "webhooks/{id}",
    "webhooks/{id}/retry",
    "webhooks/{id}/edit",
  ],
  "303 403 403 403 403": [
    "files/{id}/retention",
    "files/{id}/purge",
    "webhooks/{id}/pause",
  ],
};

/** The address of a page, with the id of a sample. */
function addressOf(path: string): string {
  const sample = samples[path.split("/")[0] ?? ""];
  const address = path.replace("{version}", "1").replace(/\{\w+\}/, sample ?? "{}");
  assert.ok(!address.includes("{"), `${path}: samples.ts has something to show`);
  return address;
}

const paths = [...accountPages(t.steward.platform), ...sections.flatMap(({ pages }) => pages)]
  .filter(({ get, path }) => get && !NO_PAGES.includes(path))
  .map(({ path }) => path);

/** Pages that look different with these query parameters. */
const VARIANTS = [
  "tenants?view=tree",
  `explain-access?userId=${samples.users}&permission=read:users&tenantId=${t.platformTenantId}`,
  "jobs?searchTerm=nothing-of-this-name",
];

const tenantId = t.platformTenantId;
const FILES = ["read:files", "upload:files", "retain:files", "purge:files"];
/** All permissions. File permissions are listed because admin:system does not include them. */
const administrator = await t.actor({ tenantId, permissions: ["admin:system", ...FILES] });

async function statusOf(secret: string, address: string): Promise<number> {
  const headers = { cookie: `steward_console=${secret}` };
  const answer = await fetch(`${t.url}/console/${address}`, { headers, redirect: "manual" });
  const page = await answer.text();
  if (answer.status === 303) return answer.status; // forms of it come here again, and go on to where they are
  assert.match(answer.headers.get("content-security-policy") ?? "", /default-src 'none'/, address);
  assert.ok(!/<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=/.test(page), `${address} has something inline`);
  const longSearch = /<input(?=[^>]*type="search")(?![^>]*maxlength)/;
  assert.ok(!longSearch.test(page), `${address} takes a search longer than the API does`);
  const required = page.match(/<(input|select|textarea)\b[^>]*\srequired\b/g) ?? [];
  const marks = page.match(/<span class="required"/g) ?? [];
  assert.equal(marks.length, required.length, `${address} does not mark each required field`);
  return answer.status;
}

Deno.test("every page opens only for the viewers who may open it", async () => {
  const viewers = [
    administrator,
    await t.actor({ role: "Admin", tenantId }),
    await t.actor({ role: "Visitor", tenantId }),
    await t.actor({ permissions: [], tenantId }),
    await t.actor({ role: "SystemAdmin", global: true }),
  ];
  const secrets = await Promise.all(
    viewers.map(({ token }) => openBrowserSession(t.steward.platform, token ?? "")),
  );
  const found: Record<string, string[]> = {};
  for (const path of paths) {
    const address = addressOf(path);
    const answers = await Promise.all(secrets.map((secret) => statusOf(secret, address)));
    (found[answers.join(" ")] ??= []).push(path);
  }
  assert.deepEqual(found, OPEN);
});

const LOOKS: [string, Looks, boolean][] = [
  ["light, then dark, on a desktop, in English", {}, true],
  ["on a phone, in Portuguese", { phone: true, locale: "pt-PT" }, false],
];
for (const [name, looks, isDesktop] of LOOKS) {
  inBrowser(`every page can be used by everyone and reports no error: ${name}`, async (browser) => {
    const viewing = await openConsole(browser, t, administrator, looks);
    const faults: string[] = [];
    const none = (fault: unknown) => void faults.push(String(fault));
    for (const address of [...paths.map(addressOf), ...VARIANTS]) {
      await viewing.open(address);
      for (const summary of await viewing.page.locator("main summary").all()) await summary.click();
      await viewing.requireNoSidewaysScroll().catch(none);
      await viewing.requireScopes().catch(none);
      if (!isDesktop) continue;
      await viewing.requireAccessible().catch(none);
      await viewing.requireContrastIn("dark").catch(none);
    }
    await viewing.close();
    assert.deepEqual(faults, []);
  });
}
