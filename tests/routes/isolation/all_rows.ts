// How an outsider calls each route. It follows from the declaration: a platform's permission is missing; what the path names is
// the victim's; else the route acts on the caller's own data, with every parameter that could lead beyond it.
import { z } from "zod";
import { RECORDS } from "../../../domain/records/records.ts";
import { ENDPOINTS } from "../../../routes/endpoints.ts";
import type { Endpoint } from "../../../routes/shared/endpoint.ts";
import { type Ask, resourceRows, type Row, type Rows, type World } from "../../support/isolation.ts";
import { creationOf } from "../../support/record_samples.ts";
import { type Id, OPEN, type Request, REQUESTS } from "./requests.ts";
import { everyTenantPermission, type Kind } from "./world.ts";

/** The kind of the victim's object that a path names behind a word, and the code of the answer. */
const NAMED: Record<string, [kind: Kind, code: string]> = {
  "api-keys": ["apiKey", "API_KEY_NOT_FOUND"],
  "batches": ["jobBatch", "JOB_BATCH_NOT_FOUND"],
  "by-code": ["permissionCode", "PERMISSION_NOT_FOUND"],
  "by-email": ["email", "USER_NOT_FOUND"],
  "connected-clients": ["oauthClient", "OAUTH_CLIENT_NOT_FOUND"],
  "data-requests": ["user", "DATA_REQUEST_NOT_FOUND"],
  "dead-letter-jobs": ["deadLetter", "JOB_DEADLETTER_NOT_FOUND"],
  "delegations": ["user", "DELEGATION_NOT_FOUND"],
  "devices": ["device", "NOTIFICATION_DEVICE_NOT_FOUND"],
  "document-templates": ["documentTemplate", "DOCUMENT_TEMPLATE_NOT_FOUND"],
  "factors": ["factor", "FACTOR_NOT_FOUND"],
  "files": ["file", "FILE_NOT_FOUND"],
  "Groups": ["role", "ROLE_NOT_FOUND"],
  "imports": ["userImport", "USER_IMPORT_NOT_FOUND"],
  "invitations": ["invitation", "INVITATION_NOT_FOUND"],
  "job-types": ["jobType", "JOB_TYPE_NOT_FOUND"],
  "jobs": ["job", "JOB_NOT_FOUND"],
  "marks": ["tenant", "DEPLOY_MARK_NOT_FOUND"],
  "notification-senders": ["notificationSender", "NOTIFICATION_SENDER_NOT_FOUND"],
  "notification-suppressions": ["suppression", "NOTIFICATION_SUPPRESSION_NOT_FOUND"],
  "notification-templates": ["template", "NOTIFICATION_TEMPLATE_NOT_FOUND"],
  "notifications": ["notification", "NOTIFICATION_NOT_FOUND"],
  "oauth-clients": ["oauthClient", "OAUTH_CLIENT_NOT_FOUND"],
  "permissions": ["permission", "PERMISSION_NOT_FOUND"],
  "recurring-jobs": ["recurringJob", "JOB_RECURRING_NOT_FOUND"],
  "report-targets": ["reportTarget", "REPORT_TARGET_NOT_FOUND"],
  "reports": ["execution", "REPORT_NOT_FOUND"],
  "roles": ["role", "ROLE_NOT_FOUND"],
  "schedule": ["notification", "NOTIFICATION_NOT_FOUND"],
  "schedules": ["schedule", "REPORT_SCHEDULE_NOT_FOUND"],
  "service-accounts": ["serviceAccount", "SERVICE_ACCOUNT_NOT_FOUND"],
  "sessions": ["session", "SESSION_NOT_FOUND"],
  "sign-in-domains": ["signInDomain", "SIGN_IN_DOMAIN_NOT_FOUND"],
  "sign-in-providers": ["signInProvider", "SIGN_IN_PROVIDER_NOT_FOUND"],
  "sign-in-setup-links": ["signInSetupLink", "SIGN_IN_SETUP_LINK_NOT_FOUND"],
  "tenants": ["tenant", "CROSS_TENANT_FORBIDDEN"],
  "user-notifications": ["inApp", "NOTIFICATION_INAPP_FORBIDDEN"],
  "users": ["user", "USER_NOT_FOUND"],
  "Users": ["user", "USER_NOT_FOUND"],
  "webhook-endpoints": ["webhookEndpoint", "WEBHOOK_ENDPOINT_NOT_FOUND"],
};

/** Values of the parameters behind the first one of a path. */
const FURTHER: Record<string, (id: Id) => string> = {
  sessionId: (id) => id("session"),
  requestId: (id) => id("user"),
  permId: (id) => id("permission"),
  deliveryId: (id) => id("webhookDelivery"),
  referenceId: (id) => id("reference"),
  version: () => "1",
  attemptNumber: () => "1",
  name: () => "thumbnail",
};

/** Parameters with which a caller asks for more than their own; only system administrators get it. */
const BEYOND: Record<string, (world: World<Kind>) => string> = {
  tenantId: ({ ids }) => ids.tenant,
  everywhere: () => "true",
  includeDeleted: () => "true",
};

/** @returns undefined if the kind of what the path names is not known */
function rowOf({ id, path, access, query: known }: Endpoint): Row<Kind> | undefined {
  if (!access.needsCaller) return OPEN[id] === undefined ? undefined : { open: OPEN[id] };
  const { params, query, body, code, absent, throwaway }: Request = REQUESTS[id] ?? {};
  const askOf = (idOf: Id, world: World<Kind>, more: Ask = {}): Ask => {
    const given = <V>(part: V | ((id: Id, world: World<Kind>) => V)): V =>
      part instanceof Function ? part(idOf, world) : part;
    return {
      params: given(params) ?? more.params ?? {},
      query: { ...more.query, ...given(query) },
      ...body === undefined ? {} : { body: given(body) },
    };
  };
  const [first, ...further] = [...path.matchAll(/([^/]+)\/\{(\w+)\}/g)];
  const [, word = "", name = ""] = first ?? [];
  const [kind, notFound] = NAMED[word] ?? [];
  const named = (idOf: Id): Ask => ({
    params: first && kind
      ? {
        [name]: idOf(kind),
        ...Object.fromEntries(further.map(([, , name = ""]) => [name, FURTHER[name]?.(idOf) ?? ""])),
      }
      : {},
  });
  if (first && !kind && !params) return undefined;
  const { permissions } = access;
  if (permissions.length > 0 && !permissions.some((each) => everyTenantPermission.includes(each))) {
    return { refused: "MISSING_PERMISSION", ask: (idOf) => askOf(idOf, {} as World<Kind>, named(idOf)) };
  }
  const expected = code ?? (params ? undefined : notFound);
  if (expected && (first || [query, body].some((part) => part instanceof Function))) {
    const outcome = { code: expected, ...absent ? { absent } : {} };
    return { names: (idOf, world) => askOf(idOf, world, named(idOf)), ...outcome };
  }
  const beyond = Object.entries(BEYOND).filter(([name]) =>
    known instanceof z.ZodObject && name in known.shape
  );
  return {
    own: (world) => {
      const own = Object.fromEntries(beyond.map(([name, of]) => [name, of(world)]));
      return askOf((kind) => world.ids[kind], world, { query: own });
    },
    ...code ? { code } : {},
    ...throwaway ? { throwaway } : {},
  };
}

/** Every route of the service, by operation id; also what is named above and is no route. */
export const ROWS: Rows<Kind> = {
  ...Object.fromEntries(Object.keys({ ...OPEN, ...REQUESTS }).map((id) => [id, { open: "is no route" }])),
  ...Object.fromEntries(
    ENDPOINTS.flatMap((spec) => {
      const row = rowOf(spec);
      return row ? [[spec.id, row]] : [];
    }),
  ),
  ...Object.assign(
    {},
    ...RECORDS.map((each) =>
      resourceRows<Kind>(
        each.one as Kind,
        each,
        ({ own: ids = {} }) => creationOf(each, 100, { id: (one) => ids[one] ?? "" }),
      )
    ),
  ),
  ...resourceRows(
    "webhookEndpoint",
    { one: "webhookEndpoint", many: "webhookEndpoints", notFound: "WEBHOOK_ENDPOINT_NOT_FOUND" },
    { url: "https://hooks.example.test/outsider", eventTypes: "*" },
  ),
  ...resourceRows(
    "reportTarget",
    { one: "reportTarget", many: "reportTargets", notFound: "REPORT_TARGET_NOT_FOUND" },
    { name: "Outsider's", kind: "slack", webhookUrl: "https://hooks.example.test/outsider" },
  ),
};
