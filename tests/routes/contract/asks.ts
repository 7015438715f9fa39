// These parts of valid requests cannot be derived.
import { capitalNames, type DefinedRecord } from "../../../domain/records/record_type.ts";
import { RECORDS } from "../../../domain/records/records.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { type Ask, MARKER } from "../../support/isolation.ts";
import type { Actor } from "../../support/setup.ts";
import { changeOf, creationOf } from "../../support/record_samples.ts";
import { pngImage } from "../../support/images.ts";
import { type Kind, makeObjects } from "../isolation/world.ts";
import type { Contract } from "./contract.ts";

type Ids = Record<Kind, string>;

/** A request that is about to be sent. */
interface Prepared {
  c: Contract;
  ids: Ids;
  by: Actor;
  /** Different for each request. */
  n: number;
}

interface Case {
  /** A valid request, instead of that of the isolation table. */
  ask?(ids: Ids, c: Contract): Ask;
  /** Who calls: a system administrator, one who may also read files, or a new person. Absent: see `Contract.by`. */
  by?: "system" | "system with files" | "self";
  /** Brings the objects into the state that the request needs. @returns parts of the request, instead of the usual ones */
  prepare?(o: Prepared): Promise<Ask | void>;
  /** Why no request of this table succeeds; tests of the area have one that does. */
  special?: string;
}

const sql = ({ c }: Prepared) => c.world.sql;
const params = (id: string): Ask => ({ params: { id } });

/** A tenant of its own, without users. */
async function newTenant(o: Prepared, row: Record<string, unknown> = {}): Promise<string> {
  const tenant = { id: newId(), name: `${MARKER} tenant ${o.n}`, type: "Standard", ...row };
  await sql(o)`insert into tenants ${sql(o)(tenant)}`;
  return tenant.id;
}

/** Changes the object of the request. */
const changed = (kind: Kind, table: string, row: Record<string, unknown>): Case => ({
  prepare: async (o) => {
    await sql(o)`update ${sql(o)(table)} set ${sql(o)(row)} where id = ${o.ids[kind]}`;
  },
});

/** The requests of a record whose bodies name what nothing else has. */
function recordCases(record: DefinedRecord): Record<string, Case> {
  const { One, Many } = capitalNames(record);
  const cased = (bodyOf: (n: number, o: { id(one: string): string }) => unknown): Case => ({
    prepare: ({ n, ids }) => Promise.resolve({ body: bodyOf(n + 200, { id: (one) => ids[one as Kind] }) }),
  });
  return {
    [`create${One}`]: cased((n, o) => creationOf(record, n, o)),
    [`create${Many}`]: cased((n, o) => ({ items: [creationOf(record, n, o)] })),
    [`update${One}`]: cased((n, o) => changeOf(record, n, o)),
  };
}

/** Calls another endpoint with the same objects before. */
const after = (...before: string[]): Case => ({
  prepare: async ({ c, by, ids }) => {
    for (const id of before) {
      const { status, body } = await c.send(by, c.endpoint(id), c.ask(c.endpoint(id), ids));
      if (status >= 400) throw new Error(`${id}: ${status} ${JSON.stringify(body)}`);
    }
  },
});

/** A body with names that nothing else has. */
const body = (bodyOf: (n: number) => unknown): Case => ({
  prepare: ({ n }) => Promise.resolve({ body: bodyOf(n) }),
});

async function newSession(o: Prepared, userId: string): Promise<string> {
  const session = { id: newId(), user_id: userId, expires_at: new Date("2090-01-01") };
  await sql(o)`insert into sessions ${sql(o)(session)}`;
  return session.id;
}

/** The content of the file counts as scanned. @param tenantId its tenant from now on */
async function makeAvailable(o: Prepared, tenantId = o.c.world.ids.tenant): Promise<void> {
  const { file } = o.ids;
  const scanning = {
    status: "Scanning",
    completed_at: new Date(),
    staged_etag: "e",
    scan_due_at: new Date(),
  };
  await sql(o)`update files set ${sql(o)(scanning)} where id = ${file}`;
  const available = {
    status: "Available",
    sha256: "s",
    final_key: file,
    available_at: new Date(),
    tenant_id: tenantId,
  };
  await sql(o)`update files set ${sql(o)(available)} where id = ${file}`;
}

async function newDataRequest(o: Prepared, kind: string, row: Record<string, unknown>): Promise<string> {
  const request = { id: newId(), kind, requested_by: o.by.userId, ...row };
  await sql(o)`insert into data_requests ${sql(o)(request)}`;
  return request.id;
}

/** A delegation in the tenant of the world. */
const delegated = (of: (o: Prepared) => Record<string, unknown>): Case => ({
  async prepare(o) {
    const given = { tenant_id: o.ids.tenant, reason: MARKER, may_write: true, minutes: 5 };
    const row = { id: newId(), ...given, ...of(o) };
    await sql(o)`insert into delegations ${sql(o)(row)}`;
    return params(row.id);
  },
});

/** The execution has a document. */
const completed: Case = {
  prepare: async (o) => {
    const { file = "" } = await makeObjects(o.c.world, ["file"], {}, o.n);
    await makeAvailable({ ...o, ids: { ...o.ids, file } });
    const row = {
      status: 3,
      stored_file_id: file,
      file_name: "f",
      content_type: "text/csv",
      completed_at: new Date(),
    };
    await sql(o)`update report_executions set ${sql(o)(row)} where id = ${o.ids.execution}`;
  },
};

const activeEndpoint = changed("webhookEndpoint", "webhook_endpoints", { is_active: true });
const available: Case = { prepare: (o) => makeAvailable(o) };
const picture: Case = {
  async prepare(o) {
    await makeAvailable(o);
    const image = { profile: "image", detected_content_type: "image/png" };
    await sql(o)`update files set ${sql(o)(image)} where id = ${o.ids.file}`;
    const made = {
      file_id: o.ids.file,
      name: "preview",
      content_type: "image/webp",
      status: "Ready",
      object_key: "k",
    };
    await sql(o)`insert into file_renditions ${sql(o)(made)} on conflict do nothing`;
    return { params: { id: o.ids.file, name: "preview" } };
  },
};
const target = (n: number) => ({ name: `T ${n}`, kind: "slack", webhookUrl: "https://hooks.example.test/t" });
const locked = changed("user", "users", { lockout_expires_at: new Date("2090-01-01") });
const withSession: Case = { prepare: async (o) => void await newSession(o, o.ids.user) };
const withFactor: Case = {
  prepare: async (o) => {
    const factor = {
      id: newId(),
      user_id: o.ids.user,
      kind: "totp",
      name: "n",
      secret: "s",
      confirmed_at: new Date(),
    };
    await sql(o)`insert into user_factors ${sql(o)(factor)}`;
  },
};
const unlinked = async (o: Prepared) => {
  await sql(o)`delete from user_tenants where user_id = ${o.ids.user}`;
};
const ofNewTenant: Case = { by: "system", prepare: async (o) => params(await newTenant(o)) };
const bulk = (item: (n: number) => unknown): Case =>
  body((n) => ({ items: [item(n)], continueOnError: true }));
const byHand: Case = { special: "needs a password or a second factor" };

const SCIM_USER = "urn:ietf:params:scim:schemas:core:2.0:User";
const SCIM_GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group";
const NONE = { token: "none" };

export const CASES: Record<string, Case> = {
  signIn: { ask: () => ({ body: { email: "nobody@example.test", password: "none" } }) },
  refresh: { ask: () => ({ body: { refreshToken: "none" } }) },
  forgotPassword: { ask: () => ({ body: { email: "nobody@example.test" } }) },
  resetPassword: { ask: () => ({ body: { ...NONE, newPassword: "crimson heron 17 desk" } }) },
  readOfferedInvitation: { ask: () => ({ body: NONE }) },
  acceptInvitation: { ask: () => ({ body: { ...NONE, password: "crimson heron 17 desk" } }) },
  readRegistrationMode: { ask: ({ tenant }) => ({ query: { tenantId: tenant } }) },
  register: { ask: ({ tenant }) => ({ body: { tenantId: tenant, email: "nobody@example.test" } }) },
  readRegistration: { ask: () => ({ body: NONE }) },
  confirmRegistration: { ask: () => ({ body: { ...NONE, password: "crimson heron 17 desk" } }) },
  updateRegistrationSettings: { ask: () => ({ body: { mode: "domain", domains: ["example.test"] } }) },
  updateSignInSettings: {
    ask: ({ user }) => ({ body: { passwordSignIn: true, breakGlassUserIds: [user] } }),
  },
  exchangeOpenIdCode: { ask: () => ({ body: { code: "none" } }) },
  readProblem: { ask: () => ({ params: { code: "VALIDATION_ERROR" } }) },
  docsAsset: { ask: () => ({ params: { asset: "docs.css" } }) },
  docsOperation: { ask: () => params("signIn") },

  signOut: { by: "self" },
  switchTenant: { by: "self", prepare: ({ by }) => Promise.resolve({ body: { tenantId: by.tenantId } }) },
  stepUp: byHand,
  startTotp: { by: "self" },
  confirmTotp: byHand,
  addPasskey: byHand,
  removeFactor: byHand,
  renewRecoveryCodes: byHand,
  changePassword: byHand,
  changeEmail: byHand,
  acceptInvitationSignedIn: { special: "needs the secret that was sent" },
  disconnectClient: { special: "needs a consent of the user" },
  endOwnSession: { by: "self", prepare: async (o) => params(await newSession(o, o.by.userId)) },
  createServiceAccount: {
    ask: ({ tenant }) => ({ body: { name: "n", permissions: ["read:users"], tenants: [tenant] } }),
  },
  startUserImport: available,
  startUserImportAnywhere: {
    by: "system with files",
    prepare: (o) => makeAvailable(o, o.c.t.platformTenantId),
  },
  importPermissions: body((n) => ({
    permissions: [{ code: `imported:thing-${n}`, description: "d", category: "c" }],
  })),
  importPermissionFile: {
    prepare: ({ n }) => {
      const form = new FormData();
      const csv = `code,description,category\r\nimported:thing-${n},d,c\r\n`;
      form.set("file", new File([csv], "permissions.csv", { type: "text/csv" }));
      return Promise.resolve({ body: form });
    },
  },
  readUserImportAnywhere: changed("userImport", "user_imports", { tenant_id: null }),
  activateUser: after("deactivateUser"),
  unlockTenantUser: locked,
  unlockUser: locked,
  setUserRoles: { ask: ({ user, role }) => ({ params: { userId: user }, body: { roleIds: [role] } }) },
  removeTenantUserFactors: withFactor,
  removeUserFactors: withFactor,
  endTenantUserSessions: withSession,
  endUserSessions: withSession,
  revokePermission: after("assignPermission"),
  endTenantUserSession: {
    prepare: async (o) => ({ params: { id: o.ids.user, sessionId: await newSession(o, o.ids.user) } }),
  },
  endUserSession: {
    prepare: async (o) => ({ params: { id: o.ids.user, sessionId: await newSession(o, o.ids.user) } }),
  },
  createUser: body((n) => ({ email: `new-${n}@example.test`, password: "crimson heron 17 desk" })),
  createUserAnywhere: body((n) => ({ email: `new-${n}@example.test`, password: "crimson heron 17 desk" })),
  setDefaultRoles: {
    prepare: async ({ c, by, n }) => {
      const permission = { code: `global:thing-${n}`, description: "d", category: "c" };
      const { body } = await c.send(by, c.endpoint("createPermission"), { body: permission });
      return params(body.id);
    },
  },
  addUserTenant: { prepare: unlinked },
  addTenantUser: { prepare: unlinked },
  createTenant: { by: "system", ask: () => ({ body: { name: "New", type: "Standard" } }) },
  updateTenant: ofNewTenant,
  deleteTenant: ofNewTenant,
  exportTenant: { prepare: async (o) => ({ params: { tenantId: await newTenant(o) } }) },
  eraseTenant: {
    prepare: async (o) => ({
      params: { tenantId: await newTenant(o, { is_active: false, name: `gone ${o.n}` }) },
      body: { reason: "r", name: `gone ${o.n}` },
    }),
  },
  readUserDataRequest: {
    prepare: async (o) => {
      const row = { user_id: o.ids.user, context_tenant_id: o.ids.tenant };
      return { params: { id: o.ids.user, requestId: await newDataRequest(o, "UserExport", row) } };
    },
  },
  readAnyUserDataRequest: {
    prepare: async (o) => ({
      params: { id: o.ids.user, requestId: await newDataRequest(o, "UserExport", { user_id: o.ids.user }) },
    }),
  },
  readTenantDataRequest: {
    prepare: async (o) => {
      const tenantId = o.ids.tenant;
      return {
        params: { tenantId, requestId: await newDataRequest(o, "TenantExport", { tenant_id: tenantId }) },
      };
    },
  },
  compareDeployMark: {
    async prepare(o) {
      const mark = { id: newId(), label: MARKER, at: new Date() };
      await sql(o)`insert into deploy_marks ${sql(o)(mark)}`;
      return params(mark.id);
    },
  },
  openDelegation: {
    ...delegated((o) => ({ actor_id: o.by.userId, user_id: o.by.userId, status: "Allowed" })),
    by: "system",
  },
  endDelegation: delegated((o) => ({ actor_id: o.by.userId, user_id: o.ids.user, status: "Requested" })),
  allowDelegation: delegated((o) => ({ actor_id: o.ids.user, user_id: o.by.userId, status: "Requested" })),
  refuseDelegation: delegated((o) => ({ actor_id: o.ids.user, user_id: o.by.userId, status: "Requested" })),
  exportMyData: { by: "self" },
  readMyDataRequest: {
    prepare: async (o) => ({
      params: { requestId: await newDataRequest(o, "UserExport", { user_id: o.by.userId }) },
    }),
  },
  downloadMyData: {
    prepare: async (o) => {
      await makeAvailable(o);
      const row = { user_id: o.by.userId, file_id: o.ids.file, context_tenant_id: o.by.tenantId };
      return { params: { requestId: await newDataRequest(o, "UserExport", row) } };
    },
  },
  resumeReportSchedule: after("pauseReportSchedule"),
  downloadReport: completed,
  redeliverReport: completed,
  createReportTargets: bulk(target),
  updateReportTarget: body(target),
  listJobLogLines: changed("job", "jobs", { attempts: 1 }),
  retryJob: after("cancelJob"),
  requestJobCancel: changed("job", "jobs", { status: "Processing", worker_id: newId(), attempts: 1 }),
  retryJobNow: changed("job", "jobs", {
    status: "Failed",
    attempts: 1,
    failures: 1,
    due_at: new Date("2090-01-01"), // a due one is queued again by a worker
  }),
  resumeRecurringJob: after("pauseRecurringJob"),
  giveDownloadUrl: available,
  completeFile: { special: "needs an upload to the object store" },
  makeFileRendition: {
    prepare: async (o) => {
      await picture.prepare?.(o);
      return params(o.ids.file);
    },
  },
  readFileRendition: picture,
  resumeFileUpload: { special: "needs a multipart upload at the object store" },
  referenceFile: available,
  releaseReference: changed("file", "files", { reference_count: 1 }),
  purgeFile: available,
  retryNotification: changed("notification", "notifications", { status: "Failed" }),
  sendDirectPush: { ask: () => ({ body: { title: "x", body: "x", deviceTokens: ["device"] } }) },
  addNotificationSuppression: body((n) => ({ channel: "Email", address: `new-${n}@example.test` })),
  ...Object.assign({}, ...RECORDS.map(recordCases)) as Record<string, Case>,
  createWebhookEndpoints: bulk(() => ({ url: "https://hooks.example.test/bulk", eventTypes: "*" })),
  redeliverWebhook: activeEndpoint,
  redeliverFailedWebhooks: {
    prepare: async (o) => {
      await activeEndpoint.prepare?.(o);
      await makeObjects(o.c.world, ["webhookDelivery"], { ...o.c.world.ids, ...o.ids }, o.n);
    },
  },
  redeliverAllFailedWebhooks: activeEndpoint,
  resumeWebhookEndpoint: after("pauseWebhookEndpoint"),
  testWebhookEndpoint: activeEndpoint,
  setTenantLogo: { ask: () => ({ body: pngImage(8, 8) }) },
  removeTenantLogo: after("setTenantLogo"),
  putJobType: { ask: ({ jobType }) => ({ params: { name: jobType }, body: { description: "d" } }) },
  createOAuthClient: body((n) => ({
    name: "n",
    kind: "confidential",
    redirectUris: ["https://own.test/"],
    audience: `https://own-${n}.test`,
  })),
  createSignInProvider: {
    prepare: async (o) => {
      await sql(o)`delete from sign_in_providers where id <> ${o.ids.signInProvider}`; // a tenant has at most five
      return { body: { kind: "Oidc", name: "p", issuer: "https://id.example", clientId: "x" } };
    },
  },
  disableSignInProvider: changed("signInProvider", "sign_in_providers", { is_enabled: true }),
  addSignInDomain: body((n) => ({ name: `domain${n}.example` })),
  createScimUser: body((n) => ({ schemas: [SCIM_USER], userName: `scim-${n}@example.test` })),
  replaceScimUser: {
    ask: ({ user, email }) => ({
      params: { id: user },
      body: { schemas: [SCIM_USER], userName: email, title: "t" },
    }),
  },
  createScimGroup: body((n) => ({ schemas: [SCIM_GROUP], displayName: `SCIM ${n}` })),
  replaceScimGroup: body((n) => ({ schemas: [SCIM_GROUP], displayName: `SCIM ${n}` })),
  patchScimGroup: body((n) => ({
    schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
    Operations: [{ op: "replace", path: "displayName", value: `SCIM ${n}` }],
  })),
  mapScimGroup: body((n) => ({ displayName: `SCIM mapped ${n}` })),
  settleWork: { ask: ({ job }) => ({ body: { jobs: [{ jobId: job, attempt: 1, outcome: "failed" }] } }) },
};
