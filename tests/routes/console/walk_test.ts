import assert from "node:assert/strict";
import { type DefinedRecord, pathOfRecord } from "../../../domain/records/record_type.ts";
import { readCsv } from "../../../domain/access/permissions/csv.ts";
import { RECORDS } from "../../../domain/records/records.ts";
import type { Viewer } from "../../../routes/console/shared/page.ts";
import { type Actor, setupFile } from "../../support/setup.ts";
import { addressOf, declaredPages, pageFinder, variants } from "./all_pages.ts";
import { browse, type PlainBrowser, searcher } from "./plain_browser.ts";
import { makeSamples } from "./samples.ts";
import { ShownPage } from "./shown_page.ts";
import { requireSound } from "./sound_page.ts";

const t = await setupFile({ OUTBOUND_ALLOW: "127.0.0.1" });
const samples = await makeSamples(t);

/** Records that every user of the tenant may read. */
const OPEN_RECORDS = RECORDS.filter((record: DefinedRecord) => record.readBy === undefined);

/**
 * The status of each page for five viewers: a system administrator, a tenant's Admin, a Visitor, a user without
 * permissions, and a system administrator without a tenant. 404: the object belongs to another tenant.
 */
const OPEN: Record<string, string> = {
  "200 200 200 200 200": `
    account account/security account/security/app account/security/passkey step-up scope overview inbox
    jobs jobs/new jobs/{id} batches batches/{id} jobs/{id}/run-again job-types job-types/{name} upcoming recurring
    recurring/new/form recurring/{id} recurring/{id}/edit dead-letters dead-letters/list dead-letters/retry
    dead-letters/purge dead-letters/{id} preferences reports report-runs report-schedules
    report-schedules/new timeline search`,
  "200 200 200 200 403": `
    looks ${
    OPEN_RECORDS.flatMap((record) => [pathOfRecord(record), `${pathOfRecord(record)}/{id}`]).join(" ")
  }`,
  "200 200 200 403 200": `
    users users/{id} explain-access audit`,
  "200 200 200 403 403": `
    files files/scanner files/{id} invitations roles roles/matrix roles/{id} permissions
    tenants/registration tenants/directory tenants tenants/usage`,
  "200 200 200 403 404": `
    report-runs/{id} report-runs/{id}/deliver report-schedules/{id} report-schedules/{id}/edit`,
  "200 200 200 404 200": `
    reports/{templateId}`,
  "200 200 403 403 200": `
    notifications notifications/send templates templates/new suppressions users/new users/{id}/edit`,
  "200 200 403 403 403": `
    files/upload senders invitations/new user-imports user-imports/new user-imports/{id} users/bring-in
    users/{id}/roles roles/new roles/{id}/edit roles/{id}/group`,
  "200 200 403 403 404": `
    notifications/{id} templates/{id} templates/{id}/test templates/{id}/versions
    templates/{id}/versions/{version}`,
  "200 403 403 403 200": `
    work-in/{id} first-steps queues/{queue}/pause job-types/{name}/pause workers deploys deploys/{id} workers/database
    report-targets/new users/{id}/links users/{id}/links/new users/{id}/data alert-rules/new
    webhook-deliveries webhook-deliveries/redeliver`,
  "200 403 403 403 403": `
    users/{id}/act-as delegations
    report-targets report-targets/{id} document-templates document-templates/new document-templates/{id}
    document-templates/{id}/versions document-templates/{id}/versions/{version}
    document-templates/{id}/generate permissions/new permissions/import permissions/{id}
    permissions/{id}/default-roles tenants/sign-in tenants/sign-in/providers/new
    tenants/sign-in/providers/{id} tenants/sign-in/providers/{id}/edit tenants/new tenants/{id} tenants/{id}/edit tenants/{tenantId}/data
    ${
    OPEN_RECORDS.map((record) => `${pathOfRecord(record)}/new`).join(" ")
  } alert-rules alert-rules/{id} api-keys api-keys/new api-keys/{id}/rotate service-accounts service-accounts/new
    service-accounts/{id}/rotate
    oauth-clients oauth-clients/new oauth-clients/{id} oauth-clients/{id}/edit webhooks webhooks/new
    webhooks/{id} webhooks/{id}/edit`,
  "303 403 403 403 403": `
    files/{id}/retention files/{id}/purge webhooks/{id}/pause`,
};

const tenantId = t.platformTenantId;
/** All permissions. File permissions are listed because admin:system does not include them. */
const ALL = ["admin:system", "read:files", "upload:files", "retain:files", "purge:files"];
const administrator = await t.actor({ tenantId, permissions: ALL });
const { sitemap, shown } = declaredPages(t);

async function viewerOf(actor: Actor): Promise<Viewer> {
  const { user, tenant, tenants, permissions } = (await actor.get("/api/v1/auth/me")).body;
  return {
    userId: user.id,
    email: user.email,
    name: "",
    tenant,
    hasOtherTenants: false,
    isInPlatform: tenants.some(({ type }: { type: string }) => type === "Platform"),
    permissions: new Set(permissions),
  };
}

const pageAt = pageFinder(sitemap);

/** Pages offer most addresses again and again. */
const openTo = new Map<Viewer, Map<string, boolean>>();

/** Returns true if what a page offers is a page of the console, and open to the viewer. */
function isOpen(target: string, viewer: Viewer): boolean {
  if (/^(https?:|\.\.\/docs|assets\/)/.test(target)) return true;
  const path = decodeURIComponent(target.replace(/^\.\//, "").replace(/[?#].*$/, ""));
  return openTo.getOrInsertComputed(viewer, () => new Map()).getOrInsertComputed(path, () => {
    const found = pageAt(path);
    return found !== null && sitemap.whyClosed(found.page, found.params, viewer) === null;
  });
}

/** Addresses of the pages that offer a CSV file. */
const lists = new Set<string>();

/** Opens a page and adds what is wrong with it to `faults`. @returns its status */
async function inspect(
  browser: PlainBrowser,
  address: string,
  viewer: Viewer,
  faults: string[],
): Promise<number> {
  const { status, headers, html } = await browser.open(address);
  if (status !== 200) return status;
  const page = new ShownPage(address, status, headers, html);
  requireSound(page);
  const offered = page.all("*").flatMap(({ name, attribs }) =>
    (name === "a" ? attribs.href : name === "form" ? attribs.action : attribs["hx-get"]) ?? []
  );
  if (offered.some((target) => /[?&]as=csv/.test(target))) lists.add(address);
  for (const target of new Set(offered)) {
    if (!isOpen(target, viewer)) faults.push(`${address} offers ${target}, which is closed or no page`);
  }
  const hostile = page.all("*", ({ name, attribs }) => name === "x-hostile" || "onhostile" in attribs);
  if (hostile.length > 0) faults.push(`${address} does not escape a text`);
  return status;
}

Deno.test("every page opens only for the viewers who may open it, is sound, and offers only what is open to them", async () => {
  const actors: [Actor, locale: string][] = [
    [administrator, "en-GB"],
    [await t.actor({ role: "Admin", tenantId }), "pt-BR"],
    [await t.actor({ role: "Visitor", tenantId }), "en-GB"],
    [await t.actor({ permissions: [], tenantId }), "pt-BR"],
    [await t.actor({ role: "SystemAdmin", global: true }), "pt-BR"],
  ];
  const viewers = await Promise.all(actors.map(([actor]) => viewerOf(actor)));
  const browsers = await Promise.all(actors.map(([actor, locale]) => browse(t, actor, locale)));
  const inPortuguese = await browse(t, administrator, "pt-BR");
  const found: Record<string, string[]> = {};
  const faults: string[] = [];
  for (const [nth, page] of shown.entries()) {
    const address = addressOf(samples, page);
    const at = pageAt(address) ?? assert.fail(address);
    const closed = viewers.filter((viewer) => sitemap.whyClosed(at.page, at.params, viewer) !== null);
    const tried = closed[nth % closed.length]; // the sitemap refuses all of them in one place
    const answers: number[] = [];
    for (const [n, viewer] of viewers.entries()) {
      const isTried = viewer === tried || !closed.includes(viewer);
      answers.push(isTried ? await inspect(browsers[n] as PlainBrowser, address, viewer, faults) : 403);
    }
    (found[answers.join(" ")] ??= []).push(page.path || "overview");
  }
  for (const address of variants(samples, tenantId)) {
    await inspect(inPortuguese, address, viewers[0] as Viewer, faults);
  }
  assert.deepEqual(faults, []);
  const open = Object.entries(OPEN).map(([statuses, paths]) => [statuses, paths.trim().split(/\s+/)]);
  assert.deepEqual(found, Object.fromEntries(open));
});

Deno.test("every page opens in a tenant without anything", async () => {
  const alone = await t.actor({ permissions: ALL });
  const [browser, viewer, faults] = [await browse(t, alone), await viewerOf(alone), [] as string[]];
  for (const { path } of shown.filter(({ path }) => !/\{|new$/.test(path))) {
    assert.equal(await inspect(browser, path, viewer, faults), 200, path);
  }
  assert.deepEqual(faults, []);
});

Deno.test("every list has one value in each cell of its CSV", async () => {
  const browser = await browse(t, administrator);
  const joined: string[] = [];
  for (const address of lists) {
    const { headers, html } = await browser.open(`${address}?as=csv`);
    assert.match(headers.get("content-type") ?? "", /^text\/csv/, address);
    const [heads = [], ...rows] = readCsv(html, 1_000).map(({ fields }) => fields);
    const cells = rows.flatMap((row) => row.map((cell, n) => `${address}, ${heads[n]}: ${cell}`));
    joined.push(...cells.filter((cell) => /[\n·]/.test(cell)));
  }
  assert.deepEqual(joined, []);
  assert.ok(lists.size > 25, `${lists.size} lists`);
});

/** Forms that every signed-in viewer may send without any field. */
const OPEN_FORMS = [
  "account",
  "account/export",
  "delegations/end",
  "look",
  "inbox/read-all",
  "jobs/new",
  "looks/preview",
  "looks/preview/body",
];
/** Forms that end or change the session. */
const OF_SESSION = ["sign-out", "tenant"];

/** Headers of a form that another site has sent; the last ones are of a browser without Sec-Fetch-Site. */
const FOREIGN: Record<string, string>[] = [
  { "sec-fetch-site": "cross-site" },
  { "sec-fetch-site": "same-site" },
  { "sec-fetch-site": "", origin: "https://evil.test" },
];

Deno.test("a form without its token, of another site, or of a viewer without the permission is refused", async () => {
  const nobody = await browse(t, await t.actor({ permissions: [], tenantId }));
  const admin = await browse(t, administrator);
  const tokens = { admin: await admin.csrf(), nobody: await nobody.csrf() };
  const allowed: string[] = [];
  /** `serve_page.tsx` makes one check before all forms, so one form of each section is sent, in one of these ways. */
  const refused: [token: string | null, headers?: Record<string, string>][] = [
    [null],
    [tokens.nobody],
    ...FOREIGN.map((headers): [string, Record<string, string>] => [tokens.admin, headers]),
  ];
  const sections = new Set<string>();
  for (const { path } of sitemap.pages.filter(({ post }) => post)) {
    const to = path.replaceAll(/\{\w+\}/g, crypto.randomUUID());
    const section = path.split("/")[0] ?? "";
    if (!sections.has(section)) {
      const way = sections.size % refused.length;
      const [token, foreign] = refused[way] ?? assert.fail();
      const sent = await admin.send(to, token === null ? [] : [["csrf", token]], foreign);
      assert.equal(sent.status, 403, `${to}, way ${way}`);
      sections.add(section);
    }
    if (OF_SESSION.includes(path)) continue;
    const { status, headers } = await nobody.send(to, [["csrf", tokens.nobody]]);
    const flash = /steward_flash=([\w-]+)/.exec(headers.get("set-cookie") ?? "")?.[1] ?? "";
    const told = atob(flash.replaceAll("-", "+").replaceAll("_", "/"));
    if (status < 400 && !told.includes('"tone":"bad"')) allowed.push(path);
  }
  assert.deepEqual(allowed, OPEN_FORMS);
});

Deno.test("an id leads to every kind of thing, alone, in an address and without its dashes", async () => {
  const search = await searcher(t, administrator);
  const noIds = [
    "user-imports",
    "work-in",
    "deploys",
    "api-keys",
    "service-accounts",
    "tenants/sign-in/providers",
  ];
  for (const [section, id] of Object.entries(samples)) {
    if (noIds.includes(section) || !/^[\da-f-]{36}$/.test(id)) continue;
    const found = await search(` https://steward.test/console/${section}/${id.toUpperCase()}?x=1 `);
    assert.deepEqual(found.hrefs, [`${section}/${id}`], section);
  }
  assert.deepEqual((await search(samples.jobs?.replaceAll("-", "") ?? "")).hrefs, [`jobs/${samples.jobs}`]);
  assert.deepEqual((await search("7".repeat(8) + "-7777-7777-7777-" + "7".repeat(12))).hrefs, []);
});
