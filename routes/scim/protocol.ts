import { endpointsIn } from "../shared/endpoint.ts";
import { z } from "zod";
import {
  LAST_INDEX,
  type ListRequest,
  pageOf,
  project,
  type Projection,
  type ResourceList,
} from "../../domain/access/scim/lists.ts";
import { GROUP, type ResourceType, scimProblem, USER } from "../../domain/access/scim/schema.ts";
import type { Tagged } from "../../domain/access/scim/users.ts";
import { requireSchema, type Resource } from "../../domain/access/scim/values.ts";
import { inTenant } from "../../domain/rights/checks.ts";
import { enumName } from "../../domain/shared/shapes.ts";
import type { Answer } from "../shared/answer.ts";
import { type Call, parse } from "../shared/call.ts";
import { SCIM_TYPE } from "../shared/problem_document.ts";
import { queryInteger } from "../shared/validation.ts";

export const endpoint = endpointsIn("SCIM");
export const access = inTenant("provision:users");

/** The ids of SCIM are texts: one that is no UUID names nothing. */
export const onePath = z.object({ id: z.string().max(200) });

const names = z.string().max(4_000).optional();
const projection = {
  attributes: names.describe("Only these attributes, separated by commas"),
  excludedAttributes: names.describe("All attributes but these"),
};
const index = queryInteger(-LAST_INDEX, LAST_INDEX).optional();
const sortOrder = enumName(["ascending", "descending"]).optional();

export const readQuery = z.object(projection);
export const listQuery = z.object({
  ...projection,
  filter: z.string().max(4_000).optional().describe('RFC 7644, 3.4.2.2: `userName eq "ann@example.com"`'),
  sortBy: z.string().max(200).optional(),
  sortOrder,
  startIndex: index.describe("From 1"),
  count: index,
});

const SEARCH = "urn:ietf:params:scim:api:messages:2.0:SearchRequest";
const listed = z.array(z.string().max(200)).max(100).optional().default([]);
const number = z.int().min(-LAST_INDEX).max(LAST_INDEX).optional();
const SearchRequest = z.object({
  attributes: listed,
  excludedAttributes: listed,
  filter: z.string().max(20_000).optional(),
  sortBy: z.string().max(200).optional(),
  sortOrder,
  startIndex: number,
  count: number,
});

/** A list request and the parts of the resources that the answer has. */
export interface Search extends ListRequest, Projection {}

const split = (text = ""): string[] =>
  text.split(",").map((name) => name.trim()).filter((name) => name !== "");

export const projectionOf = ({ attributes, excludedAttributes }: z.output<typeof readQuery>): Projection => ({
  attributes: split(attributes),
  excludedAttributes: split(excludedAttributes),
});

export function searchOf({ sortOrder, startIndex, count, ...query }: z.output<typeof listQuery>): Search {
  return {
    ...query,
    ...projectionOf(query),
    descending: sortOrder === "descending",
    ...pageOf(startIndex, count),
  };
}

/** Reads the body of a search by POST. @throws invalidSyntax, invalidValue */
export async function readSearch(call: Call): Promise<Search> {
  const body = await readBody(call);
  requireSchema(body, SEARCH);
  const { sortOrder, startIndex, count, ...search } = parse(SearchRequest, body);
  return { ...search, descending: sortOrder === "descending", ...pageOf(startIndex, count) };
}

/** Reads a JSON object. Its members are checked against the schemas of SCIM. @throws invalidSyntax */
export async function readBody(call: Call): Promise<Resource> {
  const body = await call.readJson(z.unknown());
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return body as Resource;
  throw scimProblem("invalidSyntax", "Expected a JSON object.");
}

export const scim = (status: number, body: unknown, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { "content-type": SCIM_TYPE, ...headers },
  body: JSON.stringify(body),
});

/** The answer with one resource. Attributes that the request could not change are named like ignored members. */
export function one(
  call: Call,
  type: ResourceType,
  { resource, tag, ignored }: Tagged,
  asked: Projection,
  status = 200,
): Answer {
  for (const name of ignored) call.ignoredMembers.add(name);
  const { location } = resource.meta as { location: string };
  return scim(status, project(type, resource, asked), {
    etag: `W/${tag}`,
    ...status === 201 ? { location } : {},
  });
}

const LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse";

/** The answer with a page of resources, of which the client may ask for parts. */
export const list = (
  type: ResourceType,
  { total, resources }: ResourceList,
  { startIndex, ...asked }: Pick<Search, "startIndex" | keyof Projection>,
): Answer =>
  scim(200, {
    schemas: [LIST],
    totalResults: total,
    startIndex,
    itemsPerPage: resources.length,
    Resources: resources.map((resource) => project(type, resource, asked)),
  });

const schemas = z.array(z.string());
const ScimResource = z.looseObject({
  schemas,
  id: z.string().optional(),
  meta: z.looseObject({ resourceType: z.string(), location: z.string() }),
}).meta({ id: "ScimResource", description: "A resource of SCIM; `/scim/v2/Schemas` has its attributes" });
const ScimList = z.object({
  schemas,
  totalResults: z.int(),
  startIndex: z.int(),
  itemsPerPage: z.int(),
  Resources: z.array(ScimResource),
}).meta({ id: "ScimList" });

const message = (id: string, description: string, example: object) => ({
  json: z.looseObject({}).meta({ id, description, example }),
});
const MESSAGES = "urn:ietf:params:scim:api:messages:2.0";
const ANN = { schemas: [USER], userName: "ann@example.com", name: { givenName: "Ann" }, active: true };
const CLERKS = { schemas: [GROUP], displayName: "Clerks" };
const TITLE = { op: "replace", path: "title", value: "Clerk" };

/** The bodies of requests, which the service reads by the schemas of SCIM. */
export const messages = {
  User: message("ScimUser", "A user (RFC 7643, 4.1 and 4.3)", ANN),
  Group: message("ScimGroup", "A group (RFC 7643, 4.2)", CLERKS),
  patch: message("ScimPatch", "Operations (RFC 7644, 3.5.2)", {
    schemas: [`${MESSAGES}:PatchOp`],
    Operations: [TITLE],
  }),
  search: message("ScimSearch", "A search (RFC 7644, 3.4.3)", {
    schemas: [SEARCH],
    filter: "id pr",
    count: 10,
  }),
  bulk: message("ScimBulk", "Operations (RFC 7644, 3.7)", {
    schemas: [`${MESSAGES}:BulkRequest`],
    Operations: [{ method: "POST", path: "/Users", bulkId: "ann", data: ANN }],
  }),
};

const answer = <S extends z.ZodType>(description: string, schema: S) => ({
  description,
  schema,
  contentType: SCIM_TYPE,
});
export const plainAnswer = { 200: answer("The resource", ScimResource) };
export const oneAnswer = { 200: { ...plainAnswer[200], etag: true as const } };
export const listAnswer = { 200: answer("A page of resources", ScimList) };
