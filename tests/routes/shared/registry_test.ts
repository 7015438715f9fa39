// Rules for every route, checked on the declared routes themselves.
import assert from "node:assert/strict";
import { z } from "zod";
import { ENDPOINTS } from "../../../routes/endpoints.ts";
import { HttpClient } from "../../support/http.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());

/** PUT and DELETE routes of things without a version: no route reads one of them alone. */
const WITHOUT_VERSION = [
  ...[
    "endOwnSession",
    "disconnectClient",
    "endTenantUserSession",
    "endTenantUserSessions",
    "endUserSession",
    "endUserSessions",
    "releaseReference",
    "removeUserDevice",
  ],
  ...["removeFactor", "removeUserFactors", "removeTenantUserFactors"],
  ...["markUserNotificationRead", "markAllUserNotificationsRead", "deleteUserNotification"],
];

Deno.test("objects that can be changed or deleted have an ETag, and their PUT and DELETE check If-Match", () => {
  const writing = ENDPOINTS.filter(({ method }) => method === "put" || method === "delete");
  const unchecked = writing.filter(({ problems }) => !problems.includes("PRECONDITION_FAILED"));
  assert.deepEqual(unchecked.map(({ id }) => id).sort(), WITHOUT_VERSION.toSorted());
  for (const { path } of writing) {
    const read = ENDPOINTS.find((other) => other.method === "get" && other.path === path);
    const isList = read?.id === "listUserSessions" || read?.id === "listTenantUserSessions";
    if (read && !isList) assert.ok(read.answers[200]?.etag, read.id);
  }
});

/** POST routes that create nothing which a repeated request would create again. */
const WITHOUT_KEY = [
  ...["signIn", "refresh", "switchTenant", "exchangeOpenIdCode", "signOut"], // each use gives other tokens, or none
  ...["changePassword", "forgotPassword", "resetPassword", "changeEmail", "confirmEmail"],
  ...["finishSignIn", "readFactorChoice", "startPasskeySignIn", "signInByPasskey", "startPasskey"],
  ...["readStepUpChoice", "stepUp"],
  ...["sendPasswordReset", "sendPasswordResetAnywhere", "resendInvitation"], // each sends a new link
  ...["readOfferedInvitation", "acceptInvitation", "acceptInvitationSignedIn"], // a token works once
  ...["activateUser", "deactivateUser", "unlockUser", "unlockTenantUser", "assignPermission"],
  ...["pauseReportSchedule", "resumeReportSchedule", "pauseRecurringJob", "resumeRecurringJob"],
  ...["pauseWebhookEndpoint", "resumeWebhookEndpoint"],
  ...[
    "cancelJob",
    "cancelJobBatch",
    "requestJobCancel",
    "retryJobNow",
    "purgeDeadLetters",
    "completeFile",
    "purgeFile",
  ],
  ...["unsubscribe", "renderNotificationTemplate", "previewNotificationTemplate"],
  ...["renderDocumentTemplate", "previewDocumentTemplate"],
  ...["verifyNotificationSender", "confirmNotificationSender"], // a repeat finds the sender verified
  ...[
    "checkAccess",
    "previewRole",
    "testReportTarget",
    "readResetLooks",
    "readConfirmSenderLooks",
    "readConfirmEmailLooks",
  ], // they change nothing
  ...["issueOAuthTokens", "revokeOAuthToken", "introspectToken", "readUserInfoByPost"], // the protocols of OAuth
  "receiveNotificationFeedback", // the webhooks of providers
  ...["authorizeClientByForm", "signOutByClientForm"],
  ...["claimWork", "heartbeatWork", "settleWork"], // repeats are recognised by requestId and attempt
  ...["eraseUser", "eraseUserAnywhere", "eraseTenant"], // a repeat returns the same erasure
  ...["pauseJobQueue", "resumeJobQueue", "pauseJobType", "resumeJobType"],
];

Deno.test("every creating POST supports an Idempotency-Key, or rejects it because its answer has a secret", () => {
  const posts = ENDPOINTS.filter(({ method }) => method === "post");
  const lacking = posts.filter(({ creates, showsSecret }) => Boolean(creates) === Boolean(showsSecret));
  assert.deepEqual(lacking.map(({ id }) => id).sort(), WITHOUT_KEY.toSorted());
  assert.deepEqual(
    ENDPOINTS.filter((each) => each.showsSecret).map(({ id }) => id).sort(),
    [
      "addPasskey",
      "confirmTotp",
      "createApiKey",
      "createOAuthClient",
      "createServiceAccount",
      "createWebhookEndpoint",
      "createWebhookEndpoints",
      "putJobType",
      "renewRecoveryCodes",
      "rotateJobTypeSecret",
      "rotateOAuthClientSecret",
      "rotateReportWebhookSecret",
      "rotateServiceAccount",
      "rotateWebhookSecret",
      "startTotp",
    ],
  );
});

Deno.test("If-Match also works for objects that exist once per tenant or user, even before the first write", async () => {
  const actor = await t.actor({
    permissions: ["send:notifications", "read:users", "update:users"],
  });
  const settings = "/api/v1/notification-settings";
  const unset = (await actor.get(settings)).headers.get("etag") ?? "";
  const set = (defaultLocale: string, etag: string) =>
    actor.put(settings, { defaultLocale }, { "if-match": etag });
  assert.equal((await set("pt", '"0"')).status, 412);
  assert.equal((await actor.get(settings)).body.defaultLocale, null);
  const both = await Promise.all([set("pt", unset), set("de", unset)]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 412]);
  const { headers, body } = await actor.get(settings);
  assert.equal(both.find(({ status }) => status === 200)?.headers.get("etag"), headers.get("etag"));
  assert.equal((await set(body.defaultLocale === "pt" ? "fr" : "es", headers.get("etag") ?? "")).status, 200);
  assert.equal((await set("it", headers.get("etag") ?? "")).status, 412);

  const other = await t.actor({ tenantId: actor.tenantId ?? "" });
  const roles = `/api/v1/users/${other.userId}/roles`;
  const read = await actor.get(roles);
  const etag = read.headers.get("etag") ?? "";
  assert.equal(etag, (await actor.get(`/api/v1/users/${other.userId}`)).headers.get("etag"));
  assert.equal((await actor.put(roles, { roleIds: [] }, { "if-match": '"0"' })).status, 412);
  const roleIds = read.body.map((role: { id: string }) => role.id);
  assert.equal((await actor.put(roles, { roleIds }, { "if-match": etag })).status, 200);
});

const NAMES = new Set(["name", "firstName", "lastName", "key", "category"]);
/** A message's category is an identifier from the product's code. */
const WITHOUT_NAMES = new Set(["sendNotification"]);

Deno.test("names are stored in NFC and need a visible character, on every route", () => {
  const invisible = ["\u200b", "\ufeff", "\u00ad", "\u0001", "\u200b \u2060", "\u3164", "\u2800"];
  let looked = 0;
  for (const { id, method, body, lateBody } of ENDPOINTS) {
    const taken = body ?? lateBody;
    if (method === "get" || !(taken instanceof z.ZodObject) || WITHOUT_NAMES.has(id)) continue;
    for (const [name, schema] of Object.entries(taken.shape)) {
      if (!NAMES.has(name)) continue;
      looked++;
      for (const text of invisible) {
        const read = z.safeParse(schema, text);
        assert.ok(!read.success || read.data === "", `${id}.${name} ${JSON.stringify(text)}`);
      }
      assert.equal(z.parse(schema, " Cafe\u0301 "), "Caf\u00e9", `${id}.${name}`);
    }
  }
  assert.ok(looked >= 15, `${looked} names`);
});

Deno.test("two Unicode forms of a name are the same role, and both find it", async () => {
  const admin = await t.actor({ role: "Admin" });
  const made = await admin.post("/api/v1/roles", { name: "Ge\u0301rant", permissionIds: [] });
  assert.deepEqual([made.status, made.body.name], [201, "G\u00e9rant"]);
  const again = await admin.post("/api/v1/roles", { name: "G\u00e9rant", permissionIds: [] });
  assert.deepEqual([again.status, again.body.code], [409, "ROLE_ALREADY_EXISTS"]);
  const invisible = await admin.post("/api/v1/roles", { name: "\u200b\u00ad", permissionIds: [] });
  assert.deepEqual([invisible.status, invisible.body.code], [400, "VALIDATION_ERROR"]);
  assert.deepEqual(invisible.body.errors, ["name: expected at least one visible character"]);
  const user = await admin.post("/api/v1/users", {
    email: `${crypto.randomUUID()}@example.test`,
    password: "correct horse battery",
    firstName: "Jose\u0301",
    lastName: "\u200b",
  });
  assert.deepEqual([user.status, user.body.code], [400, "VALIDATION_ERROR"]);
  const holder = await t.actor({ tenantId: admin.tenantId ?? "" });
  await admin.put(`/api/v1/users/${holder.userId}/roles`, { roleIds: [made.body.id] });
  for (const roleName of ["Ge\u0301rant", "G\u00e9rant"]) {
    const { body } = await admin.get(`/api/v1/users?roleName=${encodeURIComponent(roleName)}`);
    assert.deepEqual(body.items.map(({ id }: { id: string }) => id), [holder.userId]);
  }
});

Deno.test("a JSON body null counts as missing where the body is optional", async () => {
  const actor = await t.actor({ permissions: [] });
  const purged = await actor.post("/api/v1/dead-letter-jobs/purge", "null");
  assert.deepEqual([purged.status, purged.body], [200, { purged: 0 }]);
  assert.equal((await actor.post("/api/v1/dead-letter-jobs/purge", "[]")).status, 400);
  assert.equal((await actor.post("/api/v1/jobs", "null")).status, 400);
});

Deno.test("a lookup by ids returns all of them if no pageSize is given", async () => {
  const tenantId = await t.tenant();
  const admin = await t.actor({ role: "Admin", tenantId });
  const ids: string[] = [];
  for (let n = 0; n < 25; n++) {
    ids.push((await admin.post("/api/v1/roles", { name: `Role ${n}`, permissionIds: [] })).body.id);
  }
  const global = t.systemAdmin;
  const tenants: string[] = [];
  for (let n = 0; n < 21; n++) tenants.push(await t.tenant());
  const lookups: [caller: typeof admin, path: string, ids: string[], pageSize: number][] = [
    [admin, "/api/v1/roles/lookup", ids, 50],
    [admin, "/api/v1/roles/with-permissions", ids, 100],
    [global, `/api/v1/admin/tenants/${tenantId}/roles/lookup`, ids, 50],
    [global, "/api/v1/tenants/lookup", tenants, 50],
    [global, "/api/v1/admin/tenants/lookup", tenants, 50],
  ];
  for (const [caller, path, wanted, pageSize] of lookups) {
    const of = async (query: string) => (await caller.get(`${path}?${query}`)).body;
    const named = `ids=${wanted.join(",")}`;
    const all = await of(named);
    assert.deepEqual([all.items.length, all.pageSize], [wanted.length, pageSize], path);
    assert.deepEqual(
      [(await of(`${named}&pageSize=7`)).items.length, (await of("")).pageSize],
      [7, 20],
      path,
    );
  }
});

Deno.test("a key that names another tenant is rejected; a user's token of a tenant ignores the header", async () => {
  const maker = await t.actor({ permissions: ["manage:api-keys", "read:users"] });
  const { body } = await maker.post("/api/v1/api-keys", { name: "n", permissions: ["read:users"] });
  const machine = new HttpClient(t.url, body.key);
  const other = { "x-tenant-id": await t.tenant() };
  const refused = await machine.get("/api/v1/users", other);
  assert.deepEqual([refused.status, refused.body.code], [403, "TENANT_FORBIDDEN"]);
  const own = { "x-tenant-id": maker.tenantId?.toUpperCase() ?? "" };
  assert.equal((await machine.get("/api/v1/users", own)).status, 200);
  assert.equal((await machine.get("/api/v1/users")).status, 200);
  const ignored = await maker.get("/api/v1/users", other);
  assert.deepEqual([ignored.status, ignored.body.items[0].id], [200, maker.userId]);
});

Deno.test("the removed permission cannot be created again", async () => {
  const removed = { code: "switch:any-group-tenant", description: "d", category: "c" };
  for (const caller of [t.systemAdmin, await t.actor({ permissions: ["create:permissions"] })]) {
    const refused = await caller.post("/api/v1/permissions", removed);
    assert.deepEqual([refused.status, refused.body.code], [400, "VALIDATION_ERROR"]);
    assert.match(refused.body.errors[0], /reserved/);
    const { body } = await caller.post("/api/v1/permissions/import", { permissions: [removed] });
    assert.deepEqual([body.created, body.failed], [0, 1]);
  }
});
