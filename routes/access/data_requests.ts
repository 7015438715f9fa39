import { z } from "zod";
import {
  acrossTenants,
  afterStepUp,
  byPerson,
  forSelf,
  inTenant,
  signedIn,
} from "../../domain/rights/checks.ts";
import { giveDownloadUrl } from "../../domain/files/download.ts";
import {
  eraseTenant,
  eraseUser,
  exportOwnData,
  exportTenant,
  exportUser,
} from "../../domain/user_data/ask.ts";
import {
  DataRequest,
  listRequests,
  ownExports,
  readOwnExportFile,
  readRequest,
} from "../../domain/user_data/data_request.ts";
import { FileDownload } from "../files/shapes.ts";
import { accepted, ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { requiredName, requiredText, uuid } from "../../domain/shared/shapes.ts";
import { userIdPath } from "./user_shapes.ts";

const AcceptedDataRequestDto = DataRequest.extend({
  statusUrl: z.string().describe("Path of the status"),
}).meta({ id: "AcceptedDataRequestDto" });

const EraseRequest = z.object({
  reason: requiredText(500).describe("Written to the audit log"),
}).meta({ id: "EraseRequest" });

const EraseTenantRequest = EraseRequest.extend({
  name: requiredName(200).describe("The name of the tenant, as a confirmation"),
}).meta({ id: "EraseTenantRequest" });

const endpoint = endpointsIn("Sign-in");
const userEndpoint = endpointsIn("Users");
const adminEndpoint = endpointsIn("Admin users");
const tenantEndpoint = endpointsIn("Admin tenants");

const overUsers = acrossTenants("admin:system", "manage:all-users");
const overTenants = acrossTenants("admin:system", "manage:all-tenants");
const tenantPath = z.object({ tenantId: uuid });
const oneRequest = { requestId: uuid };
const begun = (what: string) => ({
  202: { description: `The ${what} has begun`, schema: AcceptedDataRequestDto },
});
const status = { 200: { description: "The status", schema: DataRequest } };
const all = { 200: { description: "Up to 20, newest first", schema: z.array(DataRequest) } };

function acceptedRequest(request: DataRequest, of: string) {
  const statusUrl = `${of}/data-requests/${request.id}`;
  return accepted({ ...request, statusUrl }, statusUrl);
}

const own = forSelf(byPerson(signedIn));
const ownPath = "/api/v1/auth/me";

/** Exports that users ask for about themselves. */
const ofCaller = [
  endpoint(`POST ${ownPath}/export`, {
    id: "exportMyData",
    summary: "Export the caller's own personal data; while one export runs, the same is returned",
    access: afterStepUp(own),
    creates: "atomically",
    answers: begun("export"),
    run: async ({ platform, caller }) => acceptedRequest(await exportOwnData(platform, caller), ownPath),
  }),
  endpoint(`GET ${ownPath}/data-requests`, {
    id: "listMyDataRequests",
    summary: "List the exports that the caller asked for about themselves",
    access: own,
    answers: all,
    run: async ({ db, caller }) => ok(await listRequests(db, ownExports(caller))),
  }),
  endpoint(`GET ${ownPath}/data-requests/{requestId}`, {
    id: "readMyDataRequest",
    summary: "Read the status of an own export",
    access: own,
    params: z.object(oneRequest),
    answers: status,
    problems: ["DATA_REQUEST_NOT_FOUND"],
    run: async ({ db, caller, params: { requestId: id } }) =>
      ok(await readRequest(db, { ...ownExports(caller), id })),
  }),
  endpoint(`GET ${ownPath}/data-requests/{requestId}/download-url`, {
    id: "downloadMyData",
    summary: "Get a short-lived download URL of an own export",
    access: afterStepUp(own),
    params: z.object(oneRequest),
    answers: { 200: { description: "The URL and its expiry", schema: FileDownload } },
    problems: [
      "DATA_REQUEST_NOT_FOUND",
      "FILE_NOT_FOUND",
      "FILE_NOT_AVAILABLE_CONFLICT",
      "FILE_INFECTED_CONFLICT",
      "FILE_PURGED_CONFLICT",
    ],
    async run({ platform, db, caller, params }) {
      const file = await readOwnExportFile(db, caller, params.requestId);
      return ok(await giveDownloadUrl(platform, caller, file, "download"));
    },
  }),
] as const;

/** Exports and erasures of users of the tenant. */
const ofTenantUsers = [
  userEndpoint("POST /api/v1/users/{id}/export", {
    id: "exportUser",
    summary: "Export the personal data of a user that the tenant has",
    access: afterStepUp(inTenant("export:users")),
    params: userIdPath,
    creates: "atomically",
    answers: begun("export"),
    problems: ["USER_NOT_FOUND", "CROSS_TENANT_FORBIDDEN"],
    run: async ({ platform, caller, params: { id } }) =>
      acceptedRequest(await exportUser(platform, caller, id, caller.tenantId), `/api/v1/users/${id}`),
  }),
  userEndpoint("POST /api/v1/users/{id}/erase", {
    id: "eraseUser",
    summary: "Erase a user of this tenant only: personal data and messages go, the id stays",
    access: afterStepUp(inTenant("erase:users")),
    params: userIdPath,
    body: EraseRequest,
    answers: begun("erasure"),
    problems: [
      "USER_NOT_FOUND",
      "CROSS_TENANT_FORBIDDEN",
      "USER_SELF_CONFLICT",
      "LAST_SYSTEM_ADMIN_CONFLICT",
    ],
    async run({ platform, caller, params: { id }, body: { reason } }) {
      const erasure = await eraseUser(platform, caller, id, { reason, within: caller.tenantId });
      return acceptedRequest(erasure, `/api/v1/users/${id}`);
    },
  }),
  userEndpoint("GET /api/v1/users/{id}/data-requests", {
    id: "listUserDataRequests",
    summary: "List exports and erasures of a user that were asked for in the tenant",
    access: inTenant("export:users", "erase:users"),
    params: userIdPath,
    answers: all,
    run: async ({ db, caller, params: { id } }) =>
      ok(await listRequests(db, { about: { userId: id }, within: caller.tenantId })),
  }),
  userEndpoint("GET /api/v1/users/{id}/data-requests/{requestId}", {
    id: "readUserDataRequest",
    summary: "Read the status of an export or erasure of a user",
    access: inTenant("export:users", "erase:users"),
    params: userIdPath.extend(oneRequest),
    answers: status,
    problems: ["DATA_REQUEST_NOT_FOUND"],
    run: async ({ db, caller, params: { id, requestId } }) =>
      ok(await readRequest(db, { id: requestId, about: { userId: id }, within: caller.tenantId })),
  }),
] as const;

/** Exports and erasures of users of all tenants. */
const ofUsers = [
  adminEndpoint("POST /api/v1/admin/users/{id}/export", {
    id: "exportUserAnywhere",
    summary: "Export all personal data of a user",
    access: afterStepUp(overUsers),
    params: userIdPath,
    creates: "atomically",
    answers: begun("export"),
    problems: ["USER_NOT_FOUND"],
    run: async ({ platform, caller, params: { id } }) =>
      acceptedRequest(await exportUser(platform, caller, id, null), `/api/v1/admin/users/${id}`),
  }),
  adminEndpoint("POST /api/v1/admin/users/{id}/erase", {
    id: "eraseUserAnywhere",
    summary: "Erase a user of any tenants: personal data and messages go, the id stays",
    access: afterStepUp(overUsers),
    params: userIdPath,
    body: EraseRequest,
    answers: begun("erasure"),
    problems: ["USER_NOT_FOUND", "USER_SELF_CONFLICT", "LAST_SYSTEM_ADMIN_CONFLICT"],
    async run({ platform, caller, params: { id }, body: { reason } }) {
      const erasure = await eraseUser(platform, caller, id, { reason, within: null });
      return acceptedRequest(erasure, `/api/v1/admin/users/${id}`);
    },
  }),
  adminEndpoint("GET /api/v1/admin/users/{id}/data-requests", {
    id: "listAllUserDataRequests",
    summary: "List exports and erasures of a user",
    access: overUsers,
    params: userIdPath,
    answers: all,
    run: async ({ db, params: { id } }) =>
      ok(await listRequests(db, { about: { userId: id }, within: null })),
  }),
  adminEndpoint("GET /api/v1/admin/users/{id}/data-requests/{requestId}", {
    id: "readAnyUserDataRequest",
    summary: "Read the status of an export or erasure of a user",
    access: overUsers,
    params: userIdPath.extend(oneRequest),
    answers: status,
    problems: ["DATA_REQUEST_NOT_FOUND"],
    run: async ({ db, params: { id, requestId } }) =>
      ok(await readRequest(db, { id: requestId, about: { userId: id }, within: null })),
  }),
] as const;

/** Exports and erasures of whole tenants. */
const ofTenants = [
  tenantEndpoint("POST /api/v1/admin/tenants/{tenantId}/export", {
    id: "exportTenant",
    summary: "Export everything of a tenant",
    access: afterStepUp(overTenants),
    params: tenantPath,
    creates: "atomically",
    answers: begun("export"),
    problems: ["TENANT_NOT_FOUND"],
    run: async ({ platform, caller, params: { tenantId } }) =>
      acceptedRequest(await exportTenant(platform, caller, tenantId), `/api/v1/admin/tenants/${tenantId}`),
  }),
  tenantEndpoint("POST /api/v1/admin/tenants/{tenantId}/erase", {
    id: "eraseTenant",
    summary: "Erase an inactive tenant, its files, and the users who belong to no other tenant",
    access: afterStepUp(overTenants),
    params: tenantPath,
    body: EraseTenantRequest,
    answers: begun("erasure"),
    problems: [
      "TENANT_NOT_FOUND",
      "TENANT_PLATFORM_CONFLICT",
      "TENANT_ACTIVE_CONFLICT",
      "TENANT_HAS_CHILDREN_CONFLICT",
      "FILE_LEGAL_HOLD_CONFLICT",
    ],
    run: async ({ platform, caller, params: { tenantId }, body }) =>
      acceptedRequest(
        await eraseTenant(platform, caller, tenantId, body),
        `/api/v1/admin/tenants/${tenantId}`,
      ),
  }),
  tenantEndpoint("GET /api/v1/admin/tenants/{tenantId}/data-requests", {
    id: "listTenantDataRequests",
    summary: "List exports and erasures of a tenant",
    access: overTenants,
    params: tenantPath,
    answers: all,
    run: async ({ db, params: { tenantId } }) =>
      ok(await listRequests(db, { about: { tenantId }, within: null })),
  }),
  tenantEndpoint("GET /api/v1/admin/tenants/{tenantId}/data-requests/{requestId}", {
    id: "readTenantDataRequest",
    summary: "Read the status of an export or erasure of a tenant",
    access: overTenants,
    params: tenantPath.extend(oneRequest),
    answers: status,
    problems: ["DATA_REQUEST_NOT_FOUND"],
    run: async ({ db, params: { tenantId, requestId } }) =>
      ok(await readRequest(db, { id: requestId, about: { tenantId }, within: null })),
  }),
] as const;

/** Exports and erasures of users and tenants. */
export const dataRequestRoutes = [...ofCaller, ...ofTenantUsers, ...ofUsers, ...ofTenants] as const;
