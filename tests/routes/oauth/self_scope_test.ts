import assert from "node:assert/strict";
import { invalid } from "../../support/answers.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { browserOf, makeClient, refresh, signedInBrowser, signInToClient } from "./flow.ts";

const t = await setupShared();
const { systemAdmin } = t;
const SCOPE = "openid steward.self";
const scopes = SCOPE.split(" ");
const CLIENT = { name: "Orders", kind: "confidential", redirectUris: ["https://app.test/callback"], scopes };
const bearer = ({ access_token }: { access_token: string }) => ({ authorization: `Bearer ${access_token}` });

Deno.test("a first-party client's users reach their own things by the client's token, and nothing else", async () => {
  const client = await makeClient(systemAdmin, { scopes });
  const { browser, who } = await signedInBrowser(t, { role: "Admin" });
  const tokens = await signInToClient(t, browser, client, { scope: SCOPE });
  const headers = bearer(tokens);
  const me = await accepted(t.nobody.get("/api/v1/auth/me", headers), 200);
  assert.equal(me.user.email, who.email);
  const { user: { id } } = me;
  const own = [
    `/api/v1/user-notifications?userId=${id}`,
    `/api/v1/user-notifications/unread-count?userId=${id}`,
    `/api/v1/user-notifications/preferences?userId=${id}`,
    "/api/v1/auth/sessions",
    "/api/v1/auth/factors",
  ];
  for (const path of own) assert.equal((await t.nobody.get(path, headers)).status, 200, path);
  const renamed = { firstName: "Renamed", lastName: "Person" };
  assert.equal((await t.nobody.send("PUT", "/api/v1/auth/me", renamed, headers)).status, 200);
  const { userId: stranger } = await t.actor();
  await refused(
    "403 NOTIFICATION_INAPP_FORBIDDEN",
    t.nobody.get(`/api/v1/user-notifications?userId=${stranger}`, headers),
  );
  const change = { currentPassword: "x", newPassword: "another long pass phrase" };
  await refused(
    "403 FORBIDDEN",
    t.nobody.get("/api/v1/users", headers),
    t.nobody.get("/api/v1/settings", headers),
    t.nobody.send("POST", "/api/v1/auth/switch-tenant", { tenantId: me.tenant.id }, headers),
    t.nobody.send("POST", "/api/v1/auth/change-password", change, headers),
    t.nobody.send("POST", "/api/v1/jobs", {}, headers),
  );
});

Deno.test("by a client's token, the session in which the user signed in to the client is the current one", async () => {
  const client = await makeClient(systemAdmin, { scopes: [...scopes, "offline_access"] });
  const { browser, who } = await signedInBrowser(t);
  await browserOf(t, who.email);
  for (const scope of [SCOPE, `${SCOPE} offline_access`]) {
    const headers = bearer(await signInToClient(t, browser, client, { scope }));
    const sessions = await accepted(t.nobody.get("/api/v1/auth/sessions", headers));
    const current = sessions.map(({ isCurrent }: { isCurrent: boolean }) => isCurrent);
    assert.deepEqual(current, [false, true], scope);
  }
});

Deno.test("a user exports the own data by the client's token; nobody else sees the export", async () => {
  const client = await makeClient(systemAdmin, { scopes });
  const { browser, who } = await signedInBrowser(t);
  const headers = bearer(await signInToClient(t, browser, client, { scope: SCOPE }));
  const own = "/api/v1/auth/me";
  const begun = await accepted(t.nobody.send("POST", `${own}/export`, undefined, headers), 202);
  const again = await accepted(t.nobody.send("POST", `${own}/export`, undefined, headers), 202);
  assert.equal(again.statusUrl, begun.statusUrl, "one export at a time");
  const path = begun.statusUrl.replace(t.url, "");
  const isDone = ({ body }: { body: { status: string } }) => body.status === "Completed";
  const { body: { kind, userId } } = await until(() => t.nobody.get(path, headers), isDone);
  assert.deepEqual([kind, userId], ["UserExport", who.id]);
  const { body } = await until(
    () => t.nobody.get(`${path}/download-url`, headers),
    ({ status }) => status === 200,
    { what: "the scan of the export" },
  );
  assert.ok((await (await fetch(body.url)).bytes()).length > 0);
  assert.equal((await accepted(t.nobody.get(`${own}/data-requests`, headers))).length, 1);
  const stranger = await t.actor();
  await refused("404 DATA_REQUEST_NOT_FOUND", stranger.get(path), stranger.get(`${path}/download-url`));
  assert.deepEqual(await accepted(stranger.get(`${own}/data-requests`)), []);
});

Deno.test("without the scope, or after the client has lost it, the API refuses the token", async () => {
  const client = await makeClient(systemAdmin, { scopes });
  const { browser } = await signedInBrowser(t);
  const without = await signInToClient(t, browser, client, { scope: "openid" });
  await refused("401 TOKEN_INVALID", t.nobody.get("/api/v1/auth/me", bearer(without)));
  const tokens = await signInToClient(t, browser, client, { scope: SCOPE });
  assert.equal((await t.nobody.get("/api/v1/auth/me", bearer(tokens))).status, 200);
  const path = `/api/v1/oauth-clients/${client.id}`;
  const { body } = await systemAdmin.get(path);
  const ticketRoute = "/api/v1/user-notifications/stream-ticket";
  const { ticket } = await accepted(t.nobody.post(ticketRoute, undefined, bearer(tokens)), 200);
  const stream = `/api/v1/user-notifications/stream?ticket=${ticket}&userId=`;
  const other = crypto.randomUUID();
  await refused("403 NOTIFICATION_INAPP_FORBIDDEN", t.nobody.get(stream + other));
  await accepted(systemAdmin.put(path, { ...body, scopes: ["openid"] }), 200);
  await refused("401 TOKEN_INVALID", t.nobody.get(stream + other));
  await refused("401 TOKEN_INVALID", t.nobody.get("/api/v1/auth/me", bearer(tokens)));
  const renewed = await accepted(refresh(t, client, tokens.refresh_token), 200);
  assert.equal(renewed.scope, "openid");
});

Deno.test("the end of the session and a revoked client end the access at once", async () => {
  const client = await makeClient(systemAdmin, { scopes });
  const { browser } = await signedInBrowser(t);
  const [first, second] = [
    await signInToClient(t, browser, client, { scope: SCOPE }),
    await signInToClient(t, browser, client, { scope: SCOPE }),
  ];
  assert.equal((await t.nobody.send("POST", "/api/v1/auth/logout", undefined, bearer(first))).status, 204);
  await refused("401 TOKEN_REVOKED", t.nobody.get("/api/v1/auth/me", bearer(first)));
  await accepted(systemAdmin.delete(`/api/v1/oauth-clients/${client.id}`), 204);
  const answer = await t.nobody.get("/api/v1/auth/me", bearer(second));
  assert.equal(answer.status, 401);
});

Deno.test("only a first-party client may have the scope", async () => {
  const audience = `https://${crypto.randomUUID()}.test`;
  const create = (firstParty: boolean) =>
    systemAdmin.post("/api/v1/oauth-clients", { ...CLIENT, audience, firstParty });
  invalid(await create(false), "scopes");
  const { id } = await accepted(create(true), 201);
  const path = `/api/v1/oauth-clients/${id}`;
  const { body } = await systemAdmin.get(path);
  invalid(await systemAdmin.put(path, { ...body, firstParty: false }), "scopes");
});
