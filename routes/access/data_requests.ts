import { z } from "zod";
import { FILE_REFUSALS } from "../../domain/problems/files.ts";
import type { Caller } from "../../domain/rights/caller.ts";
import { acrossTenants, afterStepUp, byPerson, forSelf, signedIn } from "../../domain/rights/checks.ts";
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
import { ofAllTenants, ofTenant, type UserReach } from "./user_reach.ts";
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
const tenantEndpoint = endpointsIn("Admin tenants");

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
    problems: ["DATA_REQUEST_NOT_FOUND", "FILE_NOT_FOUND", ...FILE_REFUSALS],
    async run({ platform, db, caller, params }) {
      const file = await readOwnExportFile(db, caller, params.requestId);
      return ok(await giveDownloadUrl(platform, caller, file, "download"));
    },
  }),
] as const;

/** Exports and erasures of users. */
function ofUsers<
  C extends Caller,
  P extends string,
  E extends string,
  const L extends string,
  const R extends string,
>(
  { endpoint, users, access, within, refusals, idEnd }: UserReach<C, P, E>,
  ids: { list: L; read: R },
  summaries: Record<"export" | "erase" | "list", string>,
) {
  const mayRead = access("export:users", "erase:users");
  return [
    endpoint(`POST ${users}/{id}/export`, {
      id: `exportUser${idEnd}` as const,
      summary: summaries.export,
      access: afterStepUp(access("export:users")),
      params: userIdPath,
      creates: "atomically",
      answers: begun("export"),
      problems: refusals,
      run: async ({ platform, caller, params: { id } }) =>
        acceptedRequest(await exportUser(platform, caller, id, within(caller)), `${users}/${id}`),
    }),
    endpoint(`POST ${users}/{id}/erase`, {
      id: `eraseUser${idEnd}` as const,
      summary: summaries.erase,
      access: afterStepUp(access("erase:users")),
      params: userIdPath,
      body: EraseRequest,
      answers: begun("erasure"),
      problems: [...refusals, "USER_SELF_CONFLICT", "LAST_SYSTEM_ADMIN_CONFLICT"],
      async run({ platform, caller, params: { id }, body: { reason } }) {
        const erasure = await eraseUser(platform, caller, id, { reason, within: within(caller) });
        return acceptedRequest(erasure, `${users}/${id}`);
      },
    }),
    endpoint(`GET ${users}/{id}/data-requests`, {
      id: ids.list,
      summary: summaries.list,
      access: mayRead,
      params: userIdPath,
      answers: all,
      run: async ({ db, caller, params: { id } }) =>
        ok(await listRequests(db, { about: { userId: id }, within: within(caller) })),
    }),
    endpoint(`GET ${users}/{id}/data-requests/{requestId}`, {
      id: ids.read,
      summary: "Read the status of an export or erasure of a user",
      access: mayRead,
      params: userIdPath.extend(oneRequest),
      answers: status,
      problems: ["DATA_REQUEST_NOT_FOUND"],
      run: async ({ db, caller, params: { id, requestId } }) =>
        ok(await readRequest(db, { id: requestId, about: { userId: id }, within: within(caller) })),
    }),
  ] as const;
}

const ofTenantUsers = ofUsers(ofTenant, { list: "listUserDataRequests", read: "readUserDataRequest" }, {
  export: "Export the personal data of a user that the tenant has",
  erase: "Erase a user of this tenant only: personal data and messages go, the id stays",
  list: "List exports and erasures of a user that were asked for in the tenant",
});
const ofAllUsers = ofUsers(
  ofAllTenants,
  { list: "listAllUserDataRequests", read: "readAnyUserDataRequest" },
  {
    export: "Export all personal data of a user",
    erase: "Erase a user of any tenants: personal data and messages go, the id stays",
    list: "List exports and erasures of a user",
  },
);

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
    async run({ platform, caller, params: { tenantId }, body }) {
      const erasure = await eraseTenant(platform, caller, tenantId, body);
      return acceptedRequest(erasure, `/api/v1/admin/tenants/${tenantId}`);
    },
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
export const dataRequestRoutes = [...ofCaller, ...ofTenantUsers, ...ofAllUsers, ...ofTenants] as const;
