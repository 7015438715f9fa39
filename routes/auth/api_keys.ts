import { z } from "zod";
import { requiredName } from "../../domain/shared/name.ts";
import { byPerson, inTenant } from "../../domain/access/checks.ts";
import {
  API_KEY_SORTS,
  apiKeyVersion,
  createApiKey,
  listApiKeys,
  MAX_LIFE_DAYS,
  readApiKey,
  revokeApiKey,
} from "../../domain/auth/api_keys.ts";
import { created, noContent, ok, okVersioned } from "../shared/answer.ts";
import { type Endpoint, endpoint } from "../shared/endpoint.ts";
import { listQuery, pagedResultOf } from "../shared/paging.ts";
import { instant, uuid } from "../shared/validation.ts";

const key = {
  id: z.uuid(),
  name: z.string(),
  start: z.string().meta({ description: "The key's first characters, to tell keys apart" }),
  permissions: z.array(z.string()),
  createdBy: z.uuid(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().nullable(),
  revokedAt: z.iso.datetime().nullable(),
  revokedBy: z.uuid().nullable(),
  lastUsedAt: z.iso.datetime().nullable().meta({ description: "To the minute" }),
  lastUsedIp: z.string().nullable(),
};
export const ApiKeyDto = z.object(key).meta({ id: "ApiKeyDto" });
export const ApiKeyCreatedDto = z.object({
  ...key,
  key: z.string().meta({
    description: "The key itself, shown this once: send it as `Authorization: Bearer`",
  }),
}).meta({ id: "ApiKeyCreatedDto" });

const path = "/api/v1/api-keys";
const area = "API keys";
const access = byPerson(inTenant("manage:api-keys"));
const params = z.object({ id: uuid });

/** Keys by which machines call the service. */
export const apiKeyRoutes: Endpoint[] = [
  endpoint({
    ...{ method: "get", path, area, id: "listApiKeys", access },
    summary: "The tenant's API keys",
    query: z.object(listQuery(API_KEY_SORTS)),
    answers: {
      200: { description: "A page; includeDeleted shows revoked ones too", schema: pagedResultOf(ApiKeyDto) },
    },
    problems: [],
    run: async ({ db, caller, query }) => ok(await listApiKeys(db, caller, query)),
  }),
  endpoint({
    ...{ method: "get", path: `${path}/{id}`, area, id: "readApiKey", access, params },
    summary: "One API key",
    answers: { 200: { etag: true, description: "The key's record", schema: ApiKeyDto } },
    problems: ["API_KEY_NOT_FOUND"],
    async run({ db, caller, params }) {
      const key = await readApiKey(db, caller, params.id);
      return okVersioned(key, apiKeyVersion(key));
    },
  }),
  endpoint({
    ...{ method: "post", path, area, id: "createApiKey", access },
    summary: "Make an API key of this tenant, with rights the caller holds; the answer alone shows it",
    body: z.object({
      name: requiredName(200),
      permissions: z.array(z.string().trim().min(1).max(200)).min(1).max(200),
      expiresAt: instant.nullish().transform((value) => value ?? null)
        .meta({ description: `At most ${MAX_LIFE_DAYS} days ahead; absent: until it is revoked` }),
    }).meta({ id: "CreateApiKeyRequest" }),
    answers: { 201: { description: "Made; Location leads to its record", schema: ApiKeyCreatedDto } },
    showsSecret: true,
    problems: ["ROLE_ASSIGNMENT_ESCALATION_BLOCKED", "PERMISSION_NOT_FOUND"],
    async run({ platform, caller, body }) {
      const made = await createApiKey(platform, caller, body);
      return created(made, `${path}/${made.id}`);
    },
  }),
  endpoint({
    ...{ method: "delete", path: `${path}/{id}`, area, id: "revokeApiKey", access, params },
    summary: "Revoke an API key, at once",
    answers: { 204: { description: "Revoked" } },
    problems: ["API_KEY_NOT_FOUND", "PRECONDITION_FAILED"],
    async run({ platform, caller, params, call }) {
      await revokeApiKey(platform, caller, params.id, call.ifMatch);
      return noContent();
    },
  }),
];
