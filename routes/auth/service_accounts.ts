import { z } from "zod";
import { afterStepUp, byPerson, inTenantOrService } from "../../domain/rights/checks.ts";
import {
  accountsOf,
  createServiceAccount,
  NewServiceAccount,
  readServiceAccount,
  revokeServiceAccount,
  rotateServiceAccount,
  ServiceAccount,
  ServiceAccountChange,
  updateServiceAccount,
} from "../../domain/access/keys/service_accounts.ts";
import { keysQuery, RotateKeyRequest } from "./shapes.ts";
import { KeyRecord, listKeys } from "../../domain/access/keys/key_record.ts";
import { createdIn, noContentAfter, ok, versionedAnswer } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf } from "../shared/validation.ts";
import { uuid } from "../../domain/shared/shapes.ts";

const endpoint = endpointsIn("Service accounts");

const secret = z.string().describe(
  "The secret, shown only in this answer. Send it as `Authorization: Bearer`",
);
const path = "/api/v1/service-accounts";
const access = byPerson(inTenantOrService("manage:service-accounts"));
const params = z.object({ id: uuid });
const refusedGrants = [
  "CROSS_TENANT_FORBIDDEN",
  "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
  "TENANT_NOT_FOUND",
  "PERMISSION_NOT_FOUND",
] as const;
const changed = [
  "SERVICE_ACCOUNT_NOT_FOUND",
  "PRECONDITION_FAILED",
  "SERVICE_ACCOUNT_REVOKED_CONFLICT",
  ...refusedGrants,
] as const;

/** Service accounts: programs that act in one, several or all tenants. */
export const serviceAccountRoutes = [
  endpoint(`GET ${path}`, {
    id: "listServiceAccounts",
    access,
    summary: "List the service accounts of the tenant; with admin:system, all",
    query: keysQuery,
    answers: {
      200: {
        description: "A page; includeDeleted adds revoked accounts",
        schema: pagedResultOf(ServiceAccount),
      },
    },
    run: async ({ db, caller, query }) =>
      ok(await listKeys<ServiceAccount>(db, accountsOf(db, caller), query)),
  }),
  endpoint(`GET ${path}/{id}`, {
    id: "readServiceAccount",
    access,
    params,
    summary: "Read a service account",
    answers: { 200: { etag: true, description: "The account, without its secret", schema: ServiceAccount } },
    problems: ["SERVICE_ACCOUNT_NOT_FOUND"],
    run: async ({ db, caller, params }) => versionedAnswer(await readServiceAccount(db, caller, params.id)),
  }),
  endpoint(`POST ${path}`, {
    id: "createServiceAccount",
    access: afterStepUp(access),
    summary: "Create a service account with permissions of the caller; only this answer shows the secret",
    details:
      "It is not tied to a user. Each of its requests names a tenant in X-Tenant-ID, or acts without one where " +
      "the route allows it. Other tenants than the caller's, and permissions that reach every tenant, need admin:system.",
    body: NewServiceAccount,
    answers: {
      201: {
        description: "Created; Location is the URL of its record",
        schema: z.object({ ...ServiceAccount.shape, secret }).meta({ id: "ServiceAccountCreatedDto" }),
      },
    },
    creates: "a secret",
    problems: [...refusedGrants],
    run: ({ platform, caller, body }) => createdIn(path, createServiceAccount(platform, caller, body)),
  }),
  endpoint(`PUT ${path}/{id}`, {
    id: "updateServiceAccount",
    access: afterStepUp(access),
    params,
    summary: "Change the name, permissions, tenants or end of a service account; effective at once",
    body: ServiceAccountChange,
    answers: { 200: { etag: true, description: "Changed", schema: ServiceAccount } },
    problems: [...changed],
    run: async ({ platform, caller, params, body, call }) =>
      versionedAnswer(await updateServiceAccount(platform, caller, params.id, body, call.ifMatch)),
  }),
  endpoint(`POST ${path}/{id}/rotate`, {
    id: "rotateServiceAccount",
    access: afterStepUp(access),
    params,
    summary: "Replace the secret of a service account; the old one can stay good for a time",
    body: RotateKeyRequest,
    bodyOptional: true,
    creates: "a secret",
    answers: {
      200: {
        description: "The new secret, shown only in this answer",
        schema: z.object({
          id: z.guid(),
          clientId: z.string(),
          secret,
          formerSecretUntil: KeyRecord.shape.formerSecretUntil,
        }).meta({ id: "ServiceAccountSecretDto" }),
      },
    },
    problems: [
      "SERVICE_ACCOUNT_NOT_FOUND",
      "PRECONDITION_FAILED",
      "SERVICE_ACCOUNT_REVOKED_CONFLICT",
      "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
    ],
    run: async ({ platform, caller, params, body, call }) =>
      ok(await rotateServiceAccount(platform, caller, params.id, body.overlapSeconds, call.ifMatch)),
  }),
  endpoint(`DELETE ${path}/{id}`, {
    id: "revokeServiceAccount",
    access,
    params,
    summary: "Revoke a service account; effective at once",
    answers: { 204: { description: "Revoked" } },
    problems: ["SERVICE_ACCOUNT_NOT_FOUND", "PRECONDITION_FAILED"],
    run: ({ platform, caller, params, call }) =>
      noContentAfter(revokeServiceAccount(platform, caller, params.id, call.ifMatch)),
  }),
] as const;
