import { MAX_RESULTS } from "../../domain/access/scim/lists.ts";
import {
  GROUPS,
  PATH,
  type ResourceType,
  type Schema,
  SCHEMAS,
  USERS,
} from "../../domain/access/scim/schema.ts";
import { problem } from "../../domain/problems/problem.ts";
import { BODY_LIMIT } from "../shared/call.ts";
import { endpoint } from "../shared/endpoint.ts";
import { SCIM_TYPE } from "../shared/problem_document.ts";
import { MAX_OPERATIONS } from "./bulk.ts";
import { access, area, list, listAnswer, onePath, scim, ScimResource } from "./protocol.ts";

const CORE = "urn:ietf:params:scim:schemas:core:2.0";
const resourceAnswer = { 200: { description: "The resource", schema: ScimResource, contentType: SCIM_TYPE } };

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

const missing = (what: string, id: string) =>
  problem("ROUTE_NOT_FOUND", `There is no ${what} ${id.slice(0, 200)}.`);

/** What the service supports of SCIM. */
export const discoveryRoutes = [
  endpoint({
    method: "get",
    path: `${PATH}/ServiceProviderConfig`,
    area,
    id: "readScimConfiguration",
    summary: "Read which parts of SCIM the service supports",
    access,
    answers: resourceAnswer,
    problems: [],
    run: ({ platform }) => scim(200, configuration(platform.baseUrl())),
  }),
  endpoint({
    method: "get",
    path: `${PATH}/Schemas`,
    area,
    id: "listScimSchemas",
    summary: "List the schemas of SCIM resources",
    access,
    answers: listAnswer,
    problems: [],
    run: ({ platform }) =>
      list({ total: SCHEMAS.length, resources: SCHEMAS.map(schemaResource(platform.baseUrl())) }),
  }),
  endpoint({
    method: "get",
    path: `${PATH}/Schemas/{id}`,
    area,
    id: "readScimSchema",
    summary: "Read a schema of SCIM resources",
    access,
    params: onePath,
    answers: resourceAnswer,
    problems: ["ROUTE_NOT_FOUND"],
    run: ({ platform, params }) => {
      const schema = SCHEMAS.find(({ id }) => id === params.id);
      if (!schema) throw missing("schema", params.id);
      return scim(200, schemaResource(platform.baseUrl())(schema));
    },
  }),
  endpoint({
    method: "get",
    path: `${PATH}/ResourceTypes`,
    area,
    id: "listScimResourceTypes",
    summary: "List the kinds of SCIM resources",
    access,
    answers: listAnswer,
    problems: [],
    run: ({ platform }) =>
      list({ total: 2, resources: [USERS, GROUPS].map(typeResource(platform.baseUrl())) }),
  }),
  endpoint({
    method: "get",
    path: `${PATH}/ResourceTypes/{id}`,
    area,
    id: "readScimResourceType",
    summary: "Read a kind of SCIM resources",
    access,
    params: onePath,
    answers: resourceAnswer,
    problems: ["ROUTE_NOT_FOUND"],
    run: ({ platform, params }) => {
      const type = [USERS, GROUPS].find(({ name }) => name === params.id);
      if (!type) throw missing("resource type", params.id);
      return scim(200, typeResource(platform.baseUrl())(type));
    },
  }),
] as const;
