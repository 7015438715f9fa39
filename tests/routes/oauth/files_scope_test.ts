import assert from "node:assert/strict";
import { invalid } from "../../support/answers.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { Actor, setupShared } from "../../support/setup.ts";
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
Deno.test.afterAll(() => t.stop());
const { systemAdmin } = t;
const files = new Uploading(t);
const scope = "openid steward.files";
const scopes = scope.split(" ");

type Signed = Awaited<ReturnType<typeof signedInBrowser>>;

/** The user of a page, who calls by the token of its client. */
async function onPage({ browser, who }: Signed, by = makeClient(systemAdmin, { scopes, kind: "public" })) {
  const client = await by;
  const tokens = await signInToClient(t, browser, client, { scope });
  return {
    client,
    tokens,
    user: new Actor(t.url, tokens.access_token, who.id, who.tenantId, who.email, "", ""),
  };
}

const reservation = { profile: "document", fileName: "a.pdf", contentType: "application/pdf", sizeBytes: 10 };

Deno.test("by a client's token with the scope, a user uploads and downloads with the own permissions", async () => {
  const { user } = await onPage(await signedInBrowser(t, { role: "Admin" }));
  const { id, status, createdBy } = await files.uploadAndScan(user);
  assert.deepEqual([status, createdBy], ["Available", user.userId]);
  const { url } = await accepted(user.get(`/api/v1/files/${id}/download-url`));
  assert.deepEqual(await (await fetch(url)).bytes(), aPdf.bytes);
  await refused(
    "403 MISSING_PERMISSION", // the Admin of a tenant has neither at first
    user.put(`/api/v1/files/${id}/retention`, { legalHold: true }),
    user.post(`/api/v1/files/${id}/purge`, { reason: "x" }),
  );
  await refused("403 FORBIDDEN", user.get("/api/v1/auth/me"), user.get("/api/v1/users"));
  const { user: visitor } = await onPage(await signedInBrowser(t, { role: "Visitor" }));
  await refused("403 MISSING_PERMISSION", visitor.post("/api/v1/files", reservation));
  await accepted(visitor.get("/api/v1/files"));
});

Deno.test("a file of another tenant is not found, whatever the page asks", async () => {
  const { user } = await onPage(await signedInBrowser(t));
  const other = await t.actor({ permissions: ["upload:files"] });
  const { fileId } = await files.upload(other);
  const headers = { "x-tenant-id": other.tenantId };
  await refused(
    "404 FILE_NOT_FOUND",
    user.get(`/api/v1/files/${fileId}`),
    user.get(`/api/v1/files/${fileId}?tenantId=${other.tenantId}`, headers),
    user.post(`/api/v1/files/${fileId}/complete`, undefined, headers),
    user.post(`/api/v1/files/${fileId}/references`, { scope: "x" }),
  );
  assert.equal((await accepted(user.get("/api/v1/files", headers))).totalCount, 0);
});

Deno.test("an export of the user's personal data is not in the files of the page", async () => {
  const signed = await signedInBrowser(t, { role: "Admin" });
  const { id: userId, tenantId, email } = signed.who;
  const { user } = await onPage(signed);
  const id = await files.fileIn("Available", { tenantId });
  await t.steward.platform.sql`update files set profile = 'export', created_by = ${userId} where id = ${id}`;
  const { body: { accessToken } } = await signIn(t, email);
  const self = new Actor(t.url, accessToken, userId, tenantId, email, "", "");
  const listed = "/api/v1/files?profile=export";
  assert.equal((await accepted(self.get(listed))).totalCount, 1);
  await accepted(self.get(`/api/v1/files/${id}/download-url`));
  assert.equal((await accepted(user.get(listed))).totalCount, 0);
  const own = [`/api/v1/files/${id}`, `/api/v1/files/${id}/download-url`];
  await refused("404 FILE_NOT_FOUND", ...own.map((path) => user.get(path)));
});

Deno.test("the token never has admin:system, also where that of the platform tenant counts", async () => {
  const { browser, who } = await signedInBrowser(t);
  const { sql } = t.steward.platform;
  await sql`insert into user_tenants (user_id, tenant_id) values (${who.id}, ${t.platformTenantId})`;
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
    select ${who.id}, tenant_id, id from roles where tenant_id = ${t.platformTenantId} and name in ('SystemAdmin', 'Admin')`;
  await sql`insert into role_permissions (role_id, permission_id)
    select r.id, p.id from roles r, permissions p
    where r.tenant_id = ${who.tenantId} and r.name = 'Admin' and p.code in ('retain:files', 'purge:files')`;
  const { user, client } = await onPage({ browser, who });
  const held = await files.fileIn("Available", { tenantId: who.tenantId, legalHold: true });
  const permanent = await files.fileIn("Available", { tenantId: who.tenantId, retentionClass: "Permanent" });
  const product = await files.fileIn("Available", { tenantId: null });
  await accepted(user.get(`/api/v1/files/${product}`));
  await refused(
    "403 MISSING_PERMISSION",
    user.put(`/api/v1/files/${held}/retention`, { legalHold: false }),
    user.post(`/api/v1/files/${permanent}/purge`, { reason: "x" }),
  );
  await refused(
    "403 FORBIDDEN",
    user.post("/api/v1/files", { ...reservation, isProduct: true }),
    user.post(`/api/v1/files/${product}/purge`, { reason: "x" }),
  );
  const inPlatform = await signInToClient(t, browser, client, { scope, tenant: t.platformTenantId });
  const headers = { authorization: `Bearer ${inPlatform.access_token}` };
  await refused(
    "403 MISSING_PERMISSION",
    t.nobody.post("/api/v1/files", { ...reservation, isProduct: true }, headers),
  );
});

Deno.test("no other client and no refresh or exchange gives the scope", async () => {
  const { browser } = await signedInBrowser(t);
  invalid(
    await systemAdmin.post("/api/v1/oauth-clients", {
      name: "n",
      kind: "public",
      redirectUris: ["https://app.test/callback"],
      audience: `https://${crypto.randomUUID()}.test`,
      scopes,
    }),
    "scopes",
  );
  const client = await makeClient(systemAdmin, { scopes: [...scopes, "own"] });
  const without = await signInToClient(t, browser, client, { scope: "openid" });
  const widened = await refresh(t, client, without.refresh_token, { scope });
  assert.deepEqual([widened.status, widened.body.error], [400, "invalid_scope"]);
  const ofProgram = await accepted(askTokens(t, client, { grant_type: "client_credentials" }), 200);
  assert.equal(ofProgram.scope, "own");
  const plain = await makeClient(systemAdmin, { scopes: ["openid"] });
  const granted = await signInToClient(t, browser, plain, { scope });
  assert.equal(granted.scope, "openid");
  const refusedUrl = await browser.leave(authorizeUrl(t, plain, { scope: "steward.files" }));
  assert.equal(errorOf(refusedUrl), "invalid_scope");
});

Deno.test("after the client has lost the scope, its tokens reach no file", async () => {
  const { user, client } = await onPage(await signedInBrowser(t));
  await accepted(user.get("/api/v1/files"));
  const path = `/api/v1/oauth-clients/${client.id}`;
  const { body } = await systemAdmin.get(path);
  await accepted(systemAdmin.put(path, { ...body, scopes: ["openid", "steward.self"] }), 200);
  await refused("401 TOKEN_INVALID", user.get("/api/v1/files"));
});
