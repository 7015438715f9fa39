import { z } from "zod";
import { afterStepUp, byPerson, inTenant } from "../../domain/rights/checks.ts";
import {
  apiKeysOf,
  createApiKey,
  NewApiKey,
  revokeApiKey,
  rotateApiKey,
} from "../../domain/access/keys/api_keys.ts";
import { createdIn, noContentAfter, ok, versionedAnswer } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf } from "../shared/validation.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { keysQuery, RotateKeyRequest } from "./shapes.ts";
import { KeyRecord, listKeys, readKey } from "../../domain/access/keys/key_record.ts";

const endpoint = endpointsIn("API keys");

const ApiKeyDto = KeyRecord.meta({ id: "ApiKeyDto" });
const ApiKeyCreatedDto = z.object({
  ...KeyRecord.shape,
  key: z.string().describe("The key, shown only in this answer. Send it as `Authorization: Bearer`"),
}).meta({ id: "ApiKeyCreatedDto" });

const path = "/api/v1/api-keys";
const access = byPerson(inTenant("manage:api-keys"));
const params = z.object({ id: uuid });

/** API keys: machines authenticate with them. */
export const apiKeyRoutes = [
  endpoint(`GET ${path}`, {
    id: "listApiKeys",
    access,
    summary: "List the tenant's API keys",
    query: keysQuery,
    answers: {
      200: { description: "A page; includeDeleted adds revoked keys", schema: pagedResultOf(ApiKeyDto) },
    },
    run: async ({ db, caller, query }) => ok(await listKeys<KeyRecord>(db, apiKeysOf(db, caller), query)),
  }),
  endpoint(`GET ${path}/{id}`, {
    id: "readApiKey",
    access,
    params,
    summary: "Read an API key",
    answers: { 200: { etag: true, description: "The key's record", schema: ApiKeyDto } },
    problems: ["API_KEY_NOT_FOUND"],
    run: async ({ db, caller, params }) =>
      versionedAnswer(await readKey<KeyRecord>(db, apiKeysOf(db, caller), params.id)),
  }),
  endpoint(`POST ${path}`, {
    id: "createApiKey",
    access: afterStepUp(access),
    summary:
      "Create an API key of the tenant, with permissions of the caller; only this answer shows the key",
    body: NewApiKey,
    answers: { 201: { description: "Created; Location is the URL of its record", schema: ApiKeyCreatedDto } },
    creates: "a secret",
    problems: ["ROLE_ASSIGNMENT_ESCALATION_BLOCKED", "PERMISSION_NOT_FOUND"],
    run: ({ platform, caller, body }) => createdIn(path, createApiKey(platform, caller, body)),
  }),
  endpoint(`POST ${path}/{id}/rotate`, {
    id: "rotateApiKey",
    access: afterStepUp(access),
    params,
    summary: "Replace the secret of an own API key; the old one can stay good for a time",
    body: RotateKeyRequest,
    bodyOptional: true,
    creates: "a secret",
    answers: { 200: { description: "The key's record with its new secret", schema: ApiKeyCreatedDto } },
    problems: [
      "API_KEY_NOT_FOUND",
      "PRECONDITION_FAILED",
      "API_KEY_REVOKED_CONFLICT",
      "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
    ],
    run: async ({ platform, caller, params, body, call }) =>
      ok(await rotateApiKey(platform, caller, params.id, body.overlapSeconds, call.ifMatch)),
  }),
  endpoint(`DELETE ${path}/{id}`, {
    id: "revokeApiKey",
    access,
    params,
    summary: "Revoke an API key; effective at once",
    answers: { 204: { description: "Revoked" } },
    problems: ["API_KEY_NOT_FOUND", "PRECONDITION_FAILED"],
    run: ({ platform, caller, params, call }) =>
      noContentAfter(revokeApiKey(platform, caller, params.id, call.ifMatch)),
  }),
] as const;
