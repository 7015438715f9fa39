// By the token of a first-party client, users reach their own things with `steward.self`, and files with
// `steward.files`. The table of the contract checks of every route by which scope it can be reached.
import assert from "node:assert/strict";
import { invalid, pluck } from "../../support/answers.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { signIn } from "../auth/people.ts";
import { aPdf, Uploading } from "../files/uploading.ts";
import {
  askTokens,
  authorizeUrl,
  errorOf,
  makeClient,
  refresh,
  signedInBrowser,
  signInToClient,
} from "./flow.ts";

const t = await setupShared({}, { inThisProcess: true });
const { systemAdmin } = t;
const { sql } = t.steward.platform;
const files = new Uploading(t);
const SELF = "openid steward.self";
const FILES = "openid steward.files";
const ME = "/api/v1/auth/me";
const MISSING = "403 MISSING_PERMISSION";
const NOT_FOUND = "404 FILE_NOT_FOUND";

type Signed = Awaited<ReturnType<typeof signedInBrowser>>;

/** The user of a page, who calls by the token of its client. */
async function onPage(scope: string, signed?: Signed, o: { scope?: string; tenant?: string } = {}) {
  const { browser, who } = signed ?? await signedInBrowser(t);
  const client = await makeClient(systemAdmin, { scopes: scope.split(" "), kind: "public" });
  const tokens = await signInToClient(t, browser, client, { scope, ...o });
  const user = new Actor(t.url, tokens.access_token, who.id, who.tenantId, who.email, "", "");
  return { client, tokens, user, browser };
}

const reservation = { profile: "document", fileName: "a.pdf", contentType: "application/pdf", sizeBytes: 10 };

Deno.test("by a token with steward.files, a user uploads and downloads with the own permissions", async () => {
  const { user } = await onPage(FILES);
  const { id, status, createdBy } = await files.uploadAndScan(user);
  assert.deepEqual([status, createdBy], ["Available", user.userId]);
  const { url } = await accepted(user.get(`/api/v1/files/${id}/download-url`));
  assert.deepEqual(await (await fetch(url)).bytes(), aPdf.bytes);
  await refused(MISSING, user.post(`/api/v1/files/${id}/purge`, { reason: "x" })); // the Admin lacks it at first
  await refused("403 FORBIDDEN", user.get(ME), user.get("/api/v1/users"));
  const { user: visitor } = await onPage(FILES, await signedInBrowser(t, { role: "Visitor" }));
  await refused(MISSING, visitor.post("/api/v1/files", reservation));
  await accepted(visitor.get("/api/v1/files"));

  const other = await t.actor({ permissions: ["upload:files"] });
  const path = `/api/v1/files/${(await files.upload(other)).fileId}`;
  const headers = { "x-tenant-id": other.tenantId };
  await refused(NOT_FOUND, user.get(`${path}?tenantId=${other.tenantId}`, headers), user.get(path));
});

Deno.test("an export of the user's personal data is not in the files of the page", async () => {
  const signed = await signedInBrowser(t);
  const { id: userId, tenantId, email } = signed.who;
  const { user } = await onPage(FILES, signed);
  const id = await files.fileIn("Available", { tenantId });
  await sql`update files set profile = 'export', created_by = ${userId} where id = ${id}`;
  const { body: { accessToken } } = await signIn(t, email);
  const self = new Actor(t.url, accessToken, userId, tenantId, email, "", "");
  const [list, own] = ["/api/v1/files?profile=export", `/api/v1/files/${id}`];
  assert.equal((await accepted(self.get(list))).totalCount, 1);
  await accepted(self.get(`${own}/download-url`));
  assert.equal((await accepted(user.get(list))).totalCount, 0);
  await refused(NOT_FOUND, user.get(own), user.get(`${own}/download-url`));
});

Deno.test("the token never has admin:system, also where that of the platform tenant counts", async () => {
  const signed = await signedInBrowser(t);
  const { id, tenantId } = signed.who;
  await sql`insert into user_tenants (user_id, tenant_id) values (${id}, ${t.platformTenantId})`;
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
    select ${id}, tenant_id, id from roles where tenant_id = ${t.platformTenantId} and name in ('SystemAdmin', 'Admin')`;
  await sql`insert into role_permissions (role_id, permission_id)
    select r.id, p.id from roles r, permissions p
    where r.tenant_id = ${tenantId} and r.name = 'Admin' and p.code in ('retain:files', 'purge:files')`;
  const { user } = await onPage(FILES, signed);
  const held = await files.fileIn("Available", { tenantId, legalHold: true });
  const permanent = await files.fileIn("Available", { tenantId, retentionClass: "Permanent" });
  const product = await files.fileIn("Available", { tenantId: null });
  const makeProduct = (by: Actor) => by.post("/api/v1/files", { ...reservation, isProduct: true });
  const purge = (file: string) => user.post(`/api/v1/files/${file}/purge`, { reason: "x" });
  await accepted(user.get(`/api/v1/files/${product}`));
  const release = user.put(`/api/v1/files/${held}/retention`, { legalHold: false });
  await refused(MISSING, release, purge(permanent));
  await refused("403 FORBIDDEN", makeProduct(user), purge(product));
  const inPlatform = await onPage(FILES, signed, { tenant: t.platformTenantId });
  await refused(MISSING, makeProduct(inPlatform.user));
});

Deno.test("by a token with steward.self, users reach their own things, and nobody else's", async () => {
  const { user } = await onPage(SELF);
  const { userId } = user;
  const inbox = "/api/v1/user-notifications";
  const notifications = ["", "/unread-count", "/preferences"].map((path) =>
    `${inbox}${path}?userId=${userId}`
  );
  for (const path of [ME, "/api/v1/auth/factors", ...notifications]) await accepted(user.get(path));
  const sessions = await accepted(user.get("/api/v1/auth/sessions"));
  assert.deepEqual(pluck(sessions, "isCurrent"), [true], "the one in which the user signed in to the client");
  await accepted(user.put(ME, { firstName: "Renamed" }));
  const stranger = await t.actor();
  await refused("403 NOTIFICATION_INAPP_FORBIDDEN", user.get(`${inbox}?userId=${stranger.userId}`));

  const begun = await accepted(user.post(`${ME}/export`), 202);
  const again = await accepted(user.post(`${ME}/export`), 202);
  assert.equal(again.statusUrl, begun.statusUrl, "one export at a time");
  const path = begun.statusUrl.replace(t.url, "");
  const { body } = await until(() => user.get(path), ({ body }) => body.status === "Completed");
  assert.deepEqual([body.kind, body.userId], ["UserExport", userId]);
  const download = () => user.get(`${path}/download-url`);
  const { body: { url } } = await until(download, ({ status }) => status === 200, { what: "the scan" });
  assert.ok((await (await fetch(url)).bytes()).length > 0);
  assert.equal((await accepted(user.get(`${ME}/data-requests`))).length, 1);
  await refused("404 DATA_REQUEST_NOT_FOUND", stranger.get(path), stranger.get(`${path}/download-url`));
  assert.deepEqual(await accepted(stranger.get(`${ME}/data-requests`)), []);
});

Deno.test("only a first-party client may have the scopes, and no other way gives them", async () => {
  const audience = () => `https://${crypto.randomUUID()}.test`;
  for (const scopes of [SELF.split(" "), FILES.split(" ")]) {
    const given = { name: "n", kind: "public", redirectUris: ["https://app.test/callback"], scopes };
    invalid(await systemAdmin.post("/api/v1/oauth-clients", { ...given, audience: audience() }), "scopes");
    const { id, clientId: _, ...client } = await makeClient(systemAdmin, { scopes });
    invalid(await systemAdmin.put(`/api/v1/oauth-clients/${id}`, { ...client, firstParty: false }), "scopes");
  }
  const { browser } = await signedInBrowser(t);
  const client = await makeClient(systemAdmin, { scopes: [...FILES.split(" "), "own"] });
  const without = await signInToClient(t, browser, client, { scope: "openid" });
  await refused("400 invalid_scope", refresh(t, client, without.refresh_token, { scope: FILES }));
  const ofProgram = await accepted(askTokens(t, client, { grant_type: "client_credentials" }), 200);
  assert.equal(ofProgram.scope, "own");
  const plain = await makeClient(systemAdmin, { scopes: ["openid"] });
  assert.equal((await signInToClient(t, browser, plain, { scope: FILES })).scope, "openid");
  const refusedUrl = await browser.leave(authorizeUrl(t, plain, { scope: "steward.files" }));
  assert.equal(errorOf(refusedUrl), "invalid_scope");
});

Deno.test("without the scope, or after the client has lost it, the API refuses the token", async () => {
  const inbox = "/api/v1/user-notifications";
  for (const [scope, path] of [[SELF, ME], [FILES, "/api/v1/files"]] as const) {
    const { client, user, browser, tokens } = await onPage(scope);
    const { access_token } = await signInToClient(t, browser, client, { scope: "openid" });
    await refused("401 TOKEN_INVALID", t.nobody.get(path, { authorization: `Bearer ${access_token}` }));
    await accepted(user.get(path));
    const ticket = scope === SELF ? (await accepted(user.post(`${inbox}/stream-ticket`), 200)).ticket : "x";
    const stream = () => t.nobody.get(`${inbox}/stream?ticket=${ticket}&userId=${crypto.randomUUID()}`);
    if (scope === SELF) await refused("403 NOTIFICATION_INAPP_FORBIDDEN", stream());
    await accepted(systemAdmin.put(`/api/v1/oauth-clients/${client.id}`, { scopes: ["openid"] }), 200);
    await refused("401 TOKEN_INVALID", user.get(path), stream());
    assert.equal((await accepted(refresh(t, client, tokens.refresh_token))).scope, "openid");
  }
});

Deno.test("the end of the session and a revoked client end the access at once", async () => {
  const [first, second] = [await onPage(SELF), await onPage(SELF)];
  await accepted(first.user.post("/api/v1/auth/logout"), 204);
  await refused("401 TOKEN_REVOKED", first.user.get(ME));
  await accepted(systemAdmin.delete(`/api/v1/oauth-clients/${second.client.id}`), 204);
  assert.equal((await second.user.get(ME)).status, 401);
});
