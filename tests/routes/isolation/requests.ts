// The parts of an outsider's requests that do not follow from the path, by operation.
import type { Ask, World } from "../../support/isolation.ts";
import type { Kind } from "./world.ts";

export type Id = (kind: Kind) => string;
type Given<V> = V | ((id: Id, world: World<Kind>) => V);

/** The parts of a request, and its outcome if it does not follow from the path (see `all_rows.ts`). */
export interface Request {
  /** Instead of those that name the victim's object. The request then acts on what is the caller's own. */
  params?: Given<Record<string, string>>;
  query?: Given<Record<string, string>>;
  body?: Given<Ask["body"]>;
  code?: string;
  absent?: string;
  throwaway?: true;
}

/** Gives several operations one value; `ids` are separated by white space. */
const all = <V>(ids: string, value: V): Record<string, V> =>
  Object.fromEntries(ids.trim().split(/\s+/).map((id) => [id, value]));

/** Why operations that need no caller reveal nothing of a tenant. */
export const OPEN: Record<string, string> = {
  ...all(
    `showResetPage showConfirmPage showInvitationPage showRegistrationPage listOpenIdProviders startOpenIdSignIn
    startSamlSignIn readSamlMetadata readKeys health readiness readProblem openApi docs docsAsset docsOperation
    readProviderMetadata showConfirmSenderPage`,
    "the same for everyone",
  ),
  ...all(
    `resetPassword readConfirmEmailLooks readResetLooks confirmEmail readOfferedInvitation acceptInvitation
    readRegistration confirmRegistration readConfirmSenderLooks confirmNotificationSender exchangeOpenIdCode`,
    "needs the secret that was sent or handed over",
  ),
  ...all("readRegistrationMode readSignInOptions", "the sign-in page shows it"),
  ...all("finishOpenIdSignIn finishSamlSignIn", "needs the state of a sign-in that was begun"),
  ...all("finishSignIn readFactorChoice", "needs the token of a half sign-in"),
  ...all("signIn refresh signInByPasskey", "needs a password, a refresh token or a passkey"),
  forgotPassword: "always the same answer",
  register: "always the same answer where strangers may register",
  acceptSamlAnswer: "needs an answer that the provider signed",
  startPasskeySignIn: "the same for everyone but its random challenge",
  metrics: "counts of the whole service, without anybody's names",
  listOutbox: "development only: shows every message on purpose",
  issueOAuthTokens: "needs a code, a refresh token or a secret",
  revokeOAuthToken: "needs the token and its client",
  introspectToken: "needs a secret",
  ...all("readUserInfo readUserInfoByPost", "needs an access token of a client"),
  ...all("authorizeClient authorizeClientByForm", "needs the cookie of a browser"),
  ...all("signOutByClient signOutByClientForm", "needs the cookie of a browser or an ID token"),
  ...all("showUnsubscribePage unsubscribe", "its link is in the user's mail only"),
  receiveNotificationFeedback: "providers sign their requests",
  followReportLink: "needs the secret of the link",
  showTenantLogo: "the logo is public: mails and hosted pages show it",
};

const BCRYPT = "$2b$12$EXRkfkdmXn2gzds2SSitu.MW9.gAVqa9eLS1//RYtYCmB1eLHg.9q";
const newUser = { email: "outsiders.user@example.test", password: BCRYPT, isPasswordEncrypted: true };
const reason = { body: { reason: "isolation" } };
const ofVictims = { query: { search: "victim" } };
const IMPORT = { mode: "Permissions", upsert: "true" };
/** The sign-in of the outsider has neither this password nor this factor. */
const refusedProof = (body: unknown): Request => ({ body, code: "VALIDATION_ERROR" });

const ACCESS: Record<string, Request> = {
  signOut: { throwaway: true },
  stepUp: refusedProof({ password: "none so far" }),
  addPasskey: refusedProof({ passkey: {} }),
  changeEmail: {
    ...refusedProof({ newEmail: "new@example.test", password: "none so far" }),
    throwaway: true,
  },
  changePassword: {
    ...refusedProof({ currentPassword: "none so far", newPassword: "correct horse battery" }),
    throwaway: true,
  },
  confirmTotp: { body: (id: Id) => ({ factorId: id("factor"), code: "000000" }), code: "FACTOR_NOT_FOUND" },
  renewRecoveryCodes: { code: "FACTOR_NOT_FOUND" },
  switchTenant: { body: (id: Id) => ({ tenantId: id("tenant") }), code: "TENANT_FORBIDDEN" },
  findOwnTenants: { query: (id) => ({ ids: id("tenant") }) },
  updateMe: { body: { firstName: "Mallory" } },
  acceptInvitationSignedIn: { body: { token: "none" }, code: "INVITATION_INVALID" },
  updateRegistrationSettings: {
    body: (id: Id) => ({ mode: "open", roleId: id("role") }),
    code: "ROLE_NOT_FOUND",
  },
  updateSignInSettings: {
    body: (id: Id) => ({ passwordSignIn: true, breakGlassUserIds: [id("user")] }),
    code: "VALIDATION_ERROR",
  },
  createSignInProvider: {
    body: (id: Id) => ({
      kind: "Oidc",
      name: "O",
      issuer: "https://id.example",
      clientId: "x",
      roleId: id("role"),
    }),
    code: "ROLE_NOT_FOUND",
  },
  updateSignInProvider: { body: { name: "O" } },
  addSignInDomain: { body: { name: "outsiders.example.com" } },
  createApiKey: { body: { name: "Outsider's", permissions: ["read:users"] } },
  createServiceAccount: {
    body: (_: Id, { outsider }: World) => ({
      name: "Outsider's",
      permissions: ["read:users"],
      tenants: [outsider.tenantId],
    }),
  },
  ...all("updateServiceAccount updateOAuthClient", { body: { name: "Taken over" } }),
  createOAuthClient: {
    body: {
      name: "Outsider's",
      kind: "confidential",
      redirectUris: ["https://outsider.test/"],
      audience: "https://outsider.test",
    },
  },

  ...all(
    "listUsers listTenants listRoles listPermissions readPermissionCatalog suggestCategories",
    ofVictims,
  ),
  createUser: {
    body: (id: Id) => ({ ...newUser, tenants: [{ tenantId: id("tenant"), roleIds: [id("role")] }] }),
    code: "CROSS_TENANT_FORBIDDEN",
  },
  updateUser: { body: { firstName: "Mallory", isActive: false } },
  ...all("eraseUser actAsUser eraseUserAnywhere workInTenant", reason),
  ...all("explainTenantAccess explainAccess", { query: { permission: "read:users" } }),
  setUserRoles: { body: (id: Id) => ({ roleIds: [id("role")] }) },
  listUserDataRequests: { params: (id) => ({ id: id("user") }) },
  readUserDataRequest: { code: "DATA_REQUEST_NOT_FOUND" },
  inviteUser: {
    body: (id: Id) => ({ email: "outsiders.guest@example.test", roleIds: [id("role")] }),
    code: "ROLE_NOT_FOUND",
  },
  listInvitations: { query: { email: "victims.guest@example.test" } },
  startUserImport: { body: (id: Id) => ({ fileId: id("file") }), code: "FILE_NOT_FOUND" },
  startUserImportAnywhere: { body: (id: Id) => ({ fileId: id("file") }) },
  createUserAnywhere: { body: newUser },
  updateUserAnywhere: { body: { tenants: [] } },
  addUserTenant: { body: (id: Id) => ({ tenantId: id("tenant"), roleIds: [id("role")] }) },
  eraseTenant: { body: { ...reason.body, name: "victim" } },

  // Tenant routes distinguish a tenant out of reach from a missing one.
  ...all("readTenant deleteTenant", { absent: "TENANT_NOT_FOUND" }),
  updateTenant: { body: { name: "Taken" }, absent: "TENANT_NOT_FOUND" },
  createTenant: {
    body: (id: Id) => ({ name: "Child", type: "Standard", parentTenantId: id("tenant") }),
    code: "CROSS_TENANT_FORBIDDEN",
  },
  // A caller who knows an existing user's id may link the user to their own tenant, but not to another one.
  addTenantUser: { body: (id: Id) => ({ userId: id("user"), roleIds: [id("role")] }) },

  ...all("lookUpRoles listRoleGrants", { query: (id: Id) => ({ ids: id("role") }) }),
  createRole: {
    body: (id: Id) => ({ name: "Borrowed", permissionIds: [id("permission")] }),
    code: "PERMISSION_NOT_FOUND",
  },
  previewRole: { body: { permissionIds: [] } },
  previewMove: { body: (id: Id) => ({ userIds: [id("user")] }) },
  updateRole: { body: { name: "Mallory", permissionIds: [] } },
  checkAccess: {
    body: (id: Id) => ({
      checks: [{ userId: id("user"), tenantId: id("tenant"), permission: "read:users" }],
    }),
  },
  createPermission: { body: { code: "outsiders:thing", description: "of one's own", category: "Own" } },
  updatePermission: { body: { description: "Mallory", category: "Mallory" } },
  setDefaultRoles: { body: { roles: ["Admin"] } },
  readImportTemplate: { query: { format: "Csv", mode: "Permissions" } },
  importPermissions: {
    query: IMPORT,
    body: { permissions: [{ code: "outsiders:thing", description: "imported", category: "Own" }] },
  },
  importPermissionFile: {
    query: IMPORT,
    body() {
      const form = new FormData();
      const csv = "code,description,category\r\noutsiders:thing,imported,Own\r\n";
      form.set("file", new File([csv], "permissions.csv", { type: "text/csv" }));
      return form;
    },
  },
  readAuditLog: { query: { pageSize: "100" } },
};

const MESSAGES = "urn:ietf:params:scim:api:messages:2.0";
const USER = "urn:ietf:params:scim:schemas:core:2.0:User";
const GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group";
const patch = (path: string, value: unknown) => ({
  schemas: [`${MESSAGES}:PatchOp`],
  Operations: [{ op: "replace", path, value }],
});

const SCIM: Record<string, Request> = {
  readScimSchema: { params: { id: USER } },
  readScimResourceType: { params: { id: "User" } },
  ...all("searchScim searchScimUsers searchScimGroups", {
    body: { schemas: [`${MESSAGES}:SearchRequest`], filter: "id pr" },
  }),
  listScimUsers: { query: { filter: 'userName co "victim"' } },
  createScimUser: { body: { schemas: [USER], userName: "outsiders.scim@example.test" } },
  replaceScimUser: { body: { schemas: [USER], userName: "mallory@example.test", active: false } },
  patchScimUser: { body: patch("active", false) },
  listScimGroups: { query: { filter: 'displayName co "victim"' } },
  createScimGroup: {
    body: (id: Id) => ({ schemas: [GROUP], displayName: "Outsider's", members: [{ value: id("user") }] }),
    code: "VALIDATION_ERROR",
  },
  replaceScimGroup: { body: { schemas: [GROUP], displayName: "Taken" } },
  patchScimGroup: { body: patch("displayName", "Taken") },
  runScimBulk: {
    body: { schemas: [`${MESSAGES}:BulkRequest`], Operations: [{ method: "DELETE", path: "/Users/none" }] },
  },
  mapScimGroup: { body: { displayName: "Taken" } },
};

const ECHO = { jobTypeName: "steward.echo" };
const echoType = { params: { name: "steward.echo" } };

const JOBS: Record<string, Request> = {
  ...all("pauseJobQueue resumeJobQueue", { params: { queue: "mallory" } }),
  ...all("pauseJobType resumeJobType readJobTypeStats", echoType),
  enqueueJob: { body: (id: Id) => ({ ...ECHO, parentJobId: id("job") }), code: "VALIDATION_ERROR" },
  enqueueJobs: { body: { items: [ECHO] } },
  ...all("createJobBatch addToJobBatch", { body: { jobs: [ECHO] } }),
  createRecurringJob: { body: { ...ECHO, jobId: "outsiders-recurring", cronExpression: "0 4 * * *" } },
  updateRecurringJob: { body: { queue: "mallory" } },
  putJobType: { params: { name: "outsiders.type" }, body: {} },
  claimWork: {
    body: (id: Id) => ({ types: [id("jobType")], worker: "outsider" }),
    code: "JOB_TYPE_UNKNOWN",
  },
  ...all("heartbeatWork settleWork", { body: { jobs: [] } }),
  retryDeadLetters: { body: { all: true } },
  purgeDeadLetters: { body: {} },
  redeliverAllFailedWebhooks: { body: {} },
  pollEvents: { query: { limit: "1000" } },
  publishEvent: {
    body: (id: Id) => ({ type: "outsiders.event", tenantId: id("tenant"), data: {} }),
    code: "CROSS_TENANT_FORBIDDEN",
  },
  listAllWebhookDeliveries: { query: (id) => ({ endpointId: id("webhookEndpoint") }) },
  createDeployMark: { body: { label: "Outsider's" } },
};

const DOCUMENT = { titleTemplate: "Own", bodyTemplate: "<page><p>Own</p></page>" };

const FILES_AND_REPORTS: Record<string, Request> = {
  reserveFile: {
    body: { profile: "document", fileName: "own.pdf", contentType: "application/pdf", sizeBytes: 10 },
  },
  makeFileRendition: { body: { width: 256, height: 256, fit: "cover", format: "webp" } },
  referenceFile: { body: { scope: "mallory", ownerId: "1" } },
  changeRetention: { body: { retentionClass: "Permanent" } },
  purgeFile: { body: { reason: "mallory" } },
  ...all("generateReport generateReportAsync", { body: { templateId: "users", format: 3 } }),
  createReportSchedule: {
    body: { templateId: "users", name: "Own", cronExpression: "0 5 * * *", format: 3 },
  },
  ...all("updateReportSchedule updateDocumentTemplate", { body: { name: "Mallory" } }),
  createDocumentTemplate: { body: { slug: "outsiders-document", name: "Own", ...DOCUMENT } },
  previewDocumentTemplate: { body: DOCUMENT },
  ...all("renderDocumentTemplate generateDocuments", { body: { data: {} } }),
};

const toVictim = (id: Id) => ({
  channel: "InApp",
  subject: "x",
  textBody: "x",
  recipients: [{ address: id("user") }],
});
/** Routes of a user's own notifications, called with the victim's user id. */
const ofVictim = (body?: unknown): Request => ({
  query: (id) => ({ userId: id("user") }),
  body,
  code: "NOTIFICATION_INAPP_FORBIDDEN",
});
const byOutsider: Request = { query: (_, { outsider }) => ({ userId: outsider.userId }) };

const NOTIFICATIONS: Record<string, Request> = {
  sendNotification: { body: toVictim, code: "VALIDATION_ERROR" },
  scheduleNotification: {
    body: (id: Id) => ({ notification: toVictim(id), scheduledAt: "2999-01-01T00:00:00Z" }),
    code: "VALIDATION_ERROR",
  },
  sendDirectEmail: { body: { to: ["own@example.test"], subject: "x", htmlBody: "x" } },
  sendDirectPush: {
    body: (id: Id) => ({ title: "x", body: "x", userIds: [id("user")] }),
    code: "VALIDATION_ERROR",
  },
  createNotificationTemplate: { body: { slug: "outsiders-template", name: "Own", textBodyTemplate: "x" } },
  updateNotificationTemplate: {
    body: (id: Id) => ({
      templateId: id("template"),
      name: "Mallory",
      subjectTemplate: "x",
      htmlBodyTemplate: "x",
    }),
  },
  ...all("compareNotificationTemplateVersions compareDocumentTemplateVersions", { query: { with: "1" } }),
  sendTemplateTest: { body: {} },
  renderNotificationTemplate: {
    body: (id: Id) => ({ templateSlug: id("templateSlug"), locale: "en", data: {} }),
    code: "NOTIFICATION_TEMPLATE_NOT_FOUND",
  },
  previewNotificationTemplate: { body: { textBodyTemplate: "{{ x }}", data: { x: 1 } } },
  updateNotificationSettings: { body: { defaultLocale: "pt" } },
  ...all(
    `listUserNotifications countUnreadUserNotifications markAllUserNotificationsRead listUserDevices
    streamUserNotifications readNotificationPreferences`,
    ofVictim(),
  ),
  ...all("markUserNotificationRead deleteUserNotification", {
    ...byOutsider,
    absent: "NOTIFICATION_INAPP_NOT_FOUND",
  }),
  registerUserDevice: ofVictim({ token: "outsiders-device" }),
  removeUserDevice: byOutsider,
  writeNotificationPreferences: ofVictim({ timeZoneId: "UTC" }),
  // the victim has suppressed it too, which must not be visible
  addNotificationSuppression: { body: { channel: "Email", address: "victims.suppressed@example.test" } },
  updateTenantLooks: { body: { productName: "O" } },
  setTenantLogo: { code: "VALIDATION_ERROR" },
  removeTenantLogo: { code: "TENANT_LOGO_NOT_FOUND" },
  addNotificationSender: { body: { address: "o@outsider.example" } },
  updateNotificationSender: { body: { name: "O" } },
};

export const REQUESTS: Record<string, Request> = {
  ...ACCESS,
  ...SCIM,
  ...JOBS,
  ...FILES_AND_REPORTS,
  ...NOTIFICATIONS,
};
