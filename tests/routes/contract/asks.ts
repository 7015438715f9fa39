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

/** Inserts a row. @returns its id */
async function inserted(o: Prepared, table: string, row: Record<string, unknown>): Promise<string> {
  const id = newId();
  await sql(o)`insert into ${sql(o)(table)} ${sql(o)({ id, ...row })}`;
  return id;
}

async function change(o: Prepared, table: string, id: string, row: Record<string, unknown>): Promise<void> {
  await sql(o)`update ${sql(o)(table)} set ${sql(o)(row)} where id = ${id}`;
}

/** A tenant of its own, without users. */
const newTenant = (o: Prepared, row: Record<string, unknown> = {}) =>
  inserted(o, "tenants", { name: `${MARKER} tenant ${o.n}`, type: "Standard", ...row });

/** Changes the object of the request. */
const changed = (kind: Kind, table: string, row: Record<string, unknown>): Case => ({
  prepare: (o) => change(o, table, o.ids[kind], row),
});

/** Gives several endpoints one case; `ids` are separated by spaces. */
const cases = (ids: string, of: Case): Record<string, Case> =>
  Object.fromEntries(ids.split(" ").map((id) => [id, of]));

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

const newSession = (o: Prepared, userId: string) =>
  inserted(o, "sessions", { user_id: userId, expires_at: new Date("2090-01-01") });

/** The content of the file counts as scanned. @param tenantId its tenant from now on */
async function makeAvailable(o: Prepared, tenantId = o.c.world.ids.tenant): Promise<void> {
  const { file } = o.ids;
  const at = new Date();
  await change(o, "files", file, { status: "Scanning", completed_at: at, staged_etag: "e", scan_due_at: at });
  const available = { sha256: "s", final_key: file, available_at: at, tenant_id: tenantId };
  await change(o, "files", file, { status: "Available", ...available });
}

const dataRequest = (kind: string, rowOf: (o: Prepared) => Record<string, unknown>): Case => ({
  async prepare(o) {
    const row = { kind, requested_by: o.by.userId, ...rowOf(o) };
    return { params: { requestId: await inserted(o, "data_requests", row) } };
  },
});

/** A delegation in the tenant of the world. */
const delegated = (of: (o: Prepared) => Record<string, unknown>): Case => ({
  async prepare(o) {
    const given = { tenant_id: o.ids.tenant, reason: MARKER, may_write: true, minutes: 5 };
    return params(await inserted(o, "delegations", { ...given, ...of(o) }));
  },
});

/** The execution has a document. */
const completed: Case = {
  prepare: async (o) => {
    const { file = "" } = await makeObjects(o.c.world, ["file"], {}, o.n);
    await makeAvailable({ ...o, ids: { ...o.ids, file } });
    const document = { stored_file_id: file, file_name: "f", content_type: "text/csv" };
    const row = { status: 3, completed_at: new Date(), ...document };
    await change(o, "report_executions", o.ids.execution, row);
  },
};

const activeEndpoint = changed("webhookEndpoint", "webhook_endpoints", { is_active: true });
const available: Case = { prepare: (o) => makeAvailable(o) };
const picture: Case = {
  async prepare(o) {
    await makeAvailable(o);
    await change(o, "files", o.ids.file, { profile: "image", detected_content_type: "image/png" });
    const content = { content_type: "image/webp", status: "Ready", object_key: "k" };
    const made = { file_id: o.ids.file, name: "preview", ...content };
    await sql(o)`insert into file_renditions ${sql(o)(made)} on conflict do nothing`;
    return { params: { name: "preview" } };
  },
};
const target = (n: number) => ({ name: `T ${n}`, kind: "slack", webhookUrl: "https://hooks.example.test/t" });
const locked = changed("user", "users", { lockout_expires_at: new Date("2090-01-01") });
const withSession: Case = { prepare: async (o) => void await newSession(o, o.ids.user) };
const withFactor: Case = {
  prepare: async (o) => {
    const factor = { kind: "totp", name: "n", secret: "s", confirmed_at: new Date() };
    await inserted(o, "user_factors", { user_id: o.ids.user, ...factor });
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
  exchangeOpenIdCode: { ask: () => ({ body: { code: "none" } }) },
  readProblem: { ask: () => ({ params: { code: "VALIDATION_ERROR" } }) },
  docsAsset: { ask: () => ({ params: { asset: "docs.css" } }) },
  docsOperation: { ask: () => params("signIn") },

  ...cases("signOut startTotp exportMyData", { by: "self" }),
  switchTenant: { by: "self", prepare: ({ by }) => Promise.resolve({ body: { tenantId: by.tenantId } }) },
  ...cases(
    "stepUp confirmTotp addPasskey removeFactor renewRecoveryCodes changePassword changeEmail",
    byHand,
  ),
  acceptInvitationSignedIn: { special: "needs the secret that was sent" },
  disconnectClient: { special: "needs a consent of the user" },
  endOwnSession: { by: "self", prepare: async (o) => params(await newSession(o, o.by.userId)) },
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
  ...cases("unlockTenantUser unlockUser", locked),
  ...cases("removeTenantUserFactors removeUserFactors", withFactor),
  ...cases("endTenantUserSessions endUserSessions", withSession),
  revokePermission: after("assignPermission"),
  ...cases("endTenantUserSession endUserSession", {
    prepare: async (o) => ({ params: { sessionId: await newSession(o, o.ids.user) } }),
  }),
  ...cases(
    "createUser createUserAnywhere",
    body((n) => ({ email: `new-${n}@example.test`, password: "crimson heron 17 desk" })),
  ),
  setDefaultRoles: {
    prepare: async ({ c, by, n }) => {
      const permission = { code: `global:thing-${n}`, description: "d", category: "c" };
      const { body } = await c.send(by, c.endpoint("createPermission"), { body: permission });
      return params(body.id);
    },
  },
  ...cases("addUserTenant addTenantUser", { prepare: unlinked }),
  createTenant: { by: "system", ask: () => ({ body: { name: "New", type: "Standard" } }) },
  ...cases("updateTenant deleteTenant", ofNewTenant),
  exportTenant: { prepare: async (o) => ({ params: { tenantId: await newTenant(o) } }) },
  eraseTenant: {
    prepare: async (o) => ({
      params: { tenantId: await newTenant(o, { is_active: false, name: `gone ${o.n}` }) },
      body: { reason: "r", name: `gone ${o.n}` },
    }),
  },
  readUserDataRequest: dataRequest("UserExport", ({ ids }) => ({
    user_id: ids.user,
    context_tenant_id: ids.tenant,
  })),
  readAnyUserDataRequest: dataRequest("UserExport", ({ ids }) => ({ user_id: ids.user })),
  readTenantDataRequest: dataRequest("TenantExport", ({ ids }) => ({ tenant_id: ids.tenant })),
  compareDeployMark: {
    prepare: async (o) => params(await inserted(o, "deploy_marks", { label: MARKER, at: new Date() })),
  },
  openDelegation: {
    ...delegated((o) => ({ actor_id: o.by.userId, user_id: o.by.userId, status: "Allowed" })),
    by: "system",
  },
  endDelegation: delegated((o) => ({ actor_id: o.by.userId, user_id: o.ids.user, status: "Requested" })),
  ...cases(
    "allowDelegation refuseDelegation",
    delegated((o) => ({ actor_id: o.ids.user, user_id: o.by.userId, status: "Requested" })),
  ),
  readMyDataRequest: dataRequest("UserExport", ({ by }) => ({ user_id: by.userId })),
  downloadMyData: {
    prepare: async (o) => {
      await makeAvailable(o);
      const row = { user_id: o.by.userId, file_id: o.ids.file, context_tenant_id: o.by.tenantId };
      return await dataRequest("UserExport", () => row).prepare?.(o);
    },
  },
  resumeReportSchedule: after("pauseReportSchedule"),
  ...cases("downloadReport redeliverReport", completed),
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
  ...cases("giveDownloadUrl referenceFile purgeFile", available),
  completeFile: { special: "needs an upload to the object store" },
  ...cases("makeFileRendition readFileRendition", picture),
  resumeFileUpload: { special: "needs a multipart upload at the object store" },
  releaseReference: changed("file", "files", { reference_count: 1 }),
  retryNotification: changed("notification", "notifications", { status: "Failed" }),
  sendDirectPush: { ask: () => ({ body: { title: "x", body: "x", deviceTokens: ["device"] } }) },
  addNotificationSuppression: body((n) => ({ channel: "Email", address: `new-${n}@example.test` })),
  ...Object.assign({}, ...RECORDS.map(recordCases)) as Record<string, Case>,
  createWebhookEndpoints: bulk(() => ({ url: "https://hooks.example.test/bulk", eventTypes: "*" })),
  ...cases("redeliverWebhook redeliverAllFailedWebhooks testWebhookEndpoint", activeEndpoint),
  redeliverFailedWebhooks: {
    prepare: async (o) => {
      await activeEndpoint.prepare?.(o);
      await makeObjects(o.c.world, ["webhookDelivery"], { ...o.c.world.ids, ...o.ids }, o.n);
    },
  },
  resumeWebhookEndpoint: after("pauseWebhookEndpoint"),
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
  ...cases(
    "createScimGroup replaceScimGroup",
    body((n) => ({ schemas: [SCIM_GROUP], displayName: `SCIM ${n}` })),
  ),
  patchScimGroup: body((n) => ({
    schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
    Operations: [{ op: "replace", path: "displayName", value: `SCIM ${n}` }],
  })),
  mapScimGroup: body((n) => ({ displayName: `SCIM mapped ${n}` })),
  settleWork: { ask: ({ job }) => ({ body: { jobs: [{ jobId: job, attempt: 1, outcome: "failed" }] } }) },
};
