import { z } from "zod";
import {
  GroupMapping,
  GroupMappingChange,
  listGroupMappings,
  mapGroup,
} from "../../domain/access/scim/group_mappings.ts";
import { MAX_RESULTS } from "../../domain/access/scim/lists.ts";
import {
  GROUPS,
  PATH,
  type ResourceType,
  type Schema,
  SCHEMAS,
  USERS,
} from "../../domain/access/scim/schema.ts";
import type { Resource } from "../../domain/access/scim/values.ts";
import { problem, type ProblemCode } from "../../domain/problems/problem.ts";
import { inTenant } from "../../domain/rights/checks.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { ok } from "../shared/answer.ts";
import { BODY_LIMIT } from "../shared/call.ts";
import { MAX_OPERATIONS } from "./bulk.ts";
import { access, endpoint, list, listAnswer, onePath, plainAnswer, scim } from "./protocol.ts";

const CORE = "urn:ietf:params:scim:schemas:core:2.0";

const schemaResource = (base: string) => ({ id, ...schema }: Schema) => ({
  schemas: [`${CORE}:Schema`],
  id,
  ...schema,
  meta: { resourceType: "Schema", location: `${base}${PATH}/Schemas/${id}` },
});

const typeResource = (base: string) => ({ name, endpoint, core, extension }: ResourceType) => ({
  schemas: [`${CORE}:ResourceType`],
  id: name,
  name,
  endpoint,
  description: core.description,
  schema: core.id,
  schemaExtensions: extension ? [{ schema: extension.id, required: false }] : [],
  meta: { resourceType: "ResourceType", location: `${base}${PATH}/ResourceTypes/${name}` },
});

const configuration = (base: string) => ({
  schemas: [`${CORE}:ServiceProviderConfig`],
  documentationUri: `${base}/docs`,
  patch: { supported: true },
  bulk: { supported: true, maxOperations: MAX_OPERATIONS, maxPayloadSize: BODY_LIMIT },
  filter: { supported: true, maxResults: MAX_RESULTS },
  changePassword: { supported: false },
  sort: { supported: true },
  etag: { supported: true },
  authenticationSchemes: [{
    type: "oauthbearertoken",
    name: "Bearer token",
    description:
      "The secret of a service account of one tenant, or an API key, with the permission provision:users",
    specUri: "https://www.rfc-editor.org/rfc/rfc6750",
    primary: true,
  }],
  meta: { resourceType: "ServiceProviderConfig", location: `${base}${PATH}/ServiceProviderConfig` },
});

const common = { access, problems: [] as ProblemCode[] };

/** The routes of a list of descriptions, and of one of them. */
const describedBy = <
  const Many extends "Schemas" | "ResourceTypes",
  const One extends "Schema" | "ResourceType",
>(many: Many, one: One, resources: (base: string) => Resource[]) =>
  [
    endpoint(`GET ${PATH}/${many}`, {
      ...common,
      id: `listScim${many}`,
      summary: `Describe the ${many} of SCIM`,
      answers: listAnswer,
      run: ({ platform }) => {
        const all = resources(platform.baseUrl());
        return list(USERS, { total: all.length, resources: all }, {
          startIndex: 1,
          attributes: [],
          excludedAttributes: [],
        });
      },
    }),
    endpoint(`GET ${PATH}/${many}/{id}`, {
      ...common,
      id: `readScim${one}`,
      summary: `Describe a ${one} of SCIM`,
      params: onePath,
      answers: plainAnswer,
      problems: ["ROUTE_NOT_FOUND"],
      run: ({ platform, params }) => {
        const found = resources(platform.baseUrl()).find(({ id }) => id === params.id);
        if (!found) throw problem("ROUTE_NOT_FOUND", `There is no ${one} ${params.id}.`);
        return scim(200, found);
      },
    }),
  ] as const;

/** The routes that describe the supported parts of SCIM. */
export const discoveryRoutes = [
  endpoint(`GET ${PATH}/ServiceProviderConfig`, {
    ...common,
    id: "readScimConfiguration",
    summary: "Read which parts of SCIM the service supports",
    answers: plainAnswer,
    run: ({ platform }) => scim(200, configuration(platform.baseUrl())),
  }),
  ...describedBy("Schemas", "Schema", (base) => SCHEMAS.map(schemaResource(base))),
  ...describedBy("ResourceTypes", "ResourceType", (base) => [USERS, GROUPS].map(typeResource(base))),
] as const;

/** The table of which group of the directory is which role. */
export const mappingRoutes = [
  endpoint("GET /api/v1/scim-groups", {
    id: "listScimGroupMappings",
    summary: "List which groups of the directory are which roles",
    access: inTenant("read:roles"),
    answers: { 200: { description: "All roles of the tenant, by name", schema: z.array(GroupMapping) } },
    problems: [],
    run: async ({ db, caller }) => ok(await listGroupMappings(db, caller)),
  }),
  endpoint("PUT /api/v1/roles/{id}/scim-group", {
    id: "mapScimGroup",
    summary: "Map a group of the directory to a role, or hide the role from it",
    access: inTenant("update:roles"),
    params: z.object({ id: uuid }),
    body: GroupMappingChange,
    answers: { 200: { description: "The mapping", schema: GroupMapping } },
    problems: ["ROLE_NOT_FOUND", "ROLE_ALREADY_EXISTS"],
    run: async ({ platform, caller, params, body }) => ok(await mapGroup(platform, caller, params.id, body)),
  }),
] as const;
