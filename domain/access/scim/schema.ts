import { Problem, problem, type ProblemCode } from "../../problems/problem.ts";

/** The schemas of SCIM (RFC 7643) that the service knows. Bodies, paths and filters are checked against them. */

export const USER = "urn:ietf:params:scim:schemas:core:2.0:User";
export const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
export const GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group";
export const PATH = "/scim/v2";

/** The definition of an attribute, as `/Schemas` answers it. */
export interface Attribute {
  name: string;
  type: "string" | "boolean" | "reference" | "binary" | "complex";
  multiValued: boolean;
  description: string;
  required: boolean;
  caseExact: boolean;
  mutability: "readWrite" | "readOnly" | "immutable" | "writeOnly";
  returned: "default" | "never";
  uniqueness: "none" | "server";
  subAttributes?: Attribute[];
  referenceTypes?: string[];
}

const attribute = (name: string, more: Partial<Attribute> = {}): Attribute => ({
  name,
  type: "string",
  multiValued: false,
  description: "",
  required: false,
  caseExact: false,
  mutability: "readWrite",
  returned: "default",
  uniqueness: "none",
  ...more,
});

const texts = (...names: string[]) => names.map((name) => attribute(name));
const group = (name: string, subAttributes: Attribute[], more: Partial<Attribute> = {}) =>
  attribute(name, { type: "complex", subAttributes, ...more });
const readOnly = { mutability: "readOnly" } as const;

/** An attribute of several values, each with a type, of which one may be the primary one. */
const several = (name: string, more: Partial<Attribute> = {}, value: Partial<Attribute> = {}) =>
  group(
    name,
    [attribute("value", value), ...texts("display", "type"), attribute("primary", { type: "boolean" })],
    { multiValued: true, ...more },
  );
const reference = (...referenceTypes: string[]) =>
  attribute("$ref", { type: "reference", caseExact: true, referenceTypes, ...readOnly });

const USER_ATTRIBUTES: Attribute[] = [
  attribute("userName", {
    required: true,
    mutability: "immutable",
    uniqueness: "server",
    description:
      "The email address with which the user signs in. It is compared without regard to letter case",
  }),
  group(
    "name",
    texts("formatted", "familyName", "givenName", "middleName", "honorificPrefix", "honorificSuffix"),
  ),
  ...texts("displayName", "nickName", "title", "userType", "preferredLanguage", "locale", "timezone"),
  attribute("profileUrl", { type: "reference", caseExact: true, referenceTypes: ["external"] }),
  attribute("active", { type: "boolean", description: "Whether the user may act in this tenant" }),
  attribute("password", {
    mutability: "writeOnly",
    returned: "never",
    description: "Ignored: users choose their password, or sign in by a provider",
  }),
  several("emails", { description: "Kept for the tenant; the service writes to the address in userName" }),
  several("phoneNumbers", {
    description: "The first international one, a primary one first, is the user's number",
  }),
  several("ims"),
  several("photos", {}, { type: "reference", caseExact: true, referenceTypes: ["external"] }),
  group("addresses", [
    ...texts("formatted", "streetAddress", "locality", "region", "postalCode", "country", "type"),
    attribute("primary", { type: "boolean" }),
  ], { multiValued: true }),
  group("groups", [
    attribute("value", readOnly),
    reference("Group"),
    attribute("display", readOnly),
    attribute("type", readOnly),
  ], { multiValued: true, ...readOnly }),
  several("entitlements", { description: "Kept for the tenant; gives no permission" }),
  several("roles", { description: "Kept for the tenant; gives no permission: roles are groups" }),
  several("x509Certificates", {}, { type: "binary", caseExact: true }),
];

const ENTERPRISE_ATTRIBUTES: Attribute[] = [
  ...texts("employeeNumber", "costCenter", "organization", "division", "department"),
  group("manager", [
    attribute("value", { caseExact: true }),
    attribute("$ref", { type: "reference", caseExact: true, referenceTypes: ["User"] }),
    attribute("displayName", readOnly),
  ]),
];

const GROUP_ATTRIBUTES: Attribute[] = [
  attribute("displayName", {
    required: true,
    description: "The name of the role, or the one that is mapped to it",
  }),
  group("members", [
    attribute("value", { mutability: "immutable", description: "The id of a user" }),
    reference("User"),
    attribute("type", { mutability: "immutable" }),
    attribute("display", readOnly),
  ], { multiValued: true }),
];

/** A schema by its URN. */
export interface Schema {
  id: string;
  name: string;
  description: string;
  attributes: Attribute[];
}

export const SCHEMAS: readonly Schema[] = [
  { id: USER, name: "User", description: "A user of the tenant", attributes: USER_ATTRIBUTES },
  {
    id: ENTERPRISE,
    name: "EnterpriseUser",
    description: "What an employer keeps about a user",
    attributes: ENTERPRISE_ATTRIBUTES,
  },
  {
    id: GROUP,
    name: "Group",
    description: "A role of the tenant and its holders",
    attributes: GROUP_ATTRIBUTES,
  },
];

/** A kind of resources. */
export interface ResourceType {
  name: "User" | "Group";
  endpoint: "/Users" | "/Groups";
  core: Schema;
  extension: Schema | null;
}

const schemaOf = (id: string): Schema => {
  const found = SCHEMAS.find((schema) => schema.id === id);
  if (!found) throw new Error(`there is no schema ${id}`);
  return found;
};

export const USERS: ResourceType = {
  name: "User",
  endpoint: "/Users",
  core: schemaOf(USER),
  extension: schemaOf(ENTERPRISE),
};
export const GROUPS: ResourceType = {
  name: "Group",
  endpoint: "/Groups",
  core: schemaOf(GROUP),
  extension: null,
};

/** Attributes that every resource has besides those of its schema. `id` and `meta` are the service's. */
const COMMON: Attribute[] = [
  attribute("id", { caseExact: true, ...readOnly }),
  attribute("externalId", { caseExact: true }),
  attribute("schemas", { multiValued: true, caseExact: true, ...readOnly }),
  group("meta", texts("resourceType", "created", "lastModified", "location", "version"), readOnly),
];

const isNamed = (name: string) => {
  const wanted = name.toLowerCase();
  return (each: Attribute) => each.name.toLowerCase() === wanted;
};

/** Finds an attribute of the core schema, or one that every resource has, in any letter case. */
export const coreAttribute = ({ core }: ResourceType, name: string): Attribute | undefined =>
  COMMON.find(isNamed(name)) ?? core.attributes.find(isNamed(name));

export const attributeOf = ({ attributes }: Schema, name: string): Attribute | undefined =>
  attributes.find(isNamed(name));

export const subAttributeOf = ({ subAttributes = [] }: Attribute, name: string): Attribute | undefined =>
  subAttributes.find(isNamed(name));

/** True if the text is this URN; URNs are compared without regard to letter case. */
export const isUrn = (text: string, urn: string): boolean => text.toLowerCase() === urn.toLowerCase();

/** The detail error keywords of RFC 7644, 3.12. */
type ScimType =
  | "invalidFilter"
  | "invalidPath"
  | "invalidSyntax"
  | "invalidValue"
  | "mutability"
  | "noTarget"
  | "tooMany"
  | "uniqueness";

const ERROR_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:Error";

/** Creates a refusal (400) with one of SCIM's keywords. @param detail says what was found and expected */
export const scimProblem = (scimType: ScimType, detail: string): Problem =>
  problem("VALIDATION_ERROR", detail, { members: { scimType } });

/** The keywords of problems that other functions of the area throw. */
const TYPES: Partial<Record<ProblemCode, ScimType>> = {
  ROLE_ALREADY_EXISTS: "uniqueness",
  USER_ALREADY_ASSIGNED: "uniqueness",
  USER_ALREADY_EXISTS: "uniqueness",
  USER_EXTERNAL_ID_CONFLICT: "uniqueness",
  VALIDATION_ERROR: "invalidValue",
};

/** A refusal in the format of SCIM, with the problem's code and errors, whose pages say how to fix it. */
export function scimError({ code, status, message, extras }: Problem) {
  const { errors, members } = extras;
  const isMalformed = errors !== undefined && !Array.isArray(errors) && Object.hasOwn(errors, "body");
  const scimType = members?.scimType ?? (isMalformed ? "invalidSyntax" : TYPES[code]);
  return {
    schemas: [ERROR_SCHEMA],
    status: String(status),
    ...scimType ? { scimType } : {},
    detail: message,
    code,
    ...errors ? { errors } : {},
  };
}
