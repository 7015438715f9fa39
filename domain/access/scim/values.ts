import type { z } from "zod";
import { isObject } from "../../shared/shapes.ts";
import {
  type Attribute,
  attributeOf,
  coreAttribute,
  isUrn,
  type ResourceType,
  scimProblem,
  subAttributeOf,
} from "./schema.ts";

/** A resource or a complex value, by attribute. The attributes of the extension are below its URN. */
export type Resource = Record<string, unknown>;

/** The most values of an attribute that is stored; the values of `members` are rows. */
export const MAX_VALUES = 100;
const MAX_LENGTH = 2_000;

/**
 * Reads the resource of a POST or PUT: names in the spelling of the schema, without what only the service writes.
 * @throws invalidSyntax (also for an unknown attribute), invalidValue
 */
export function readResource(type: ResourceType, body: unknown): Resource {
  if (!isObject(body)) throw scimProblem("invalidSyntax", `Expected a ${type.name} as a JSON object.`);
  if (body.schemas !== undefined) requireSchema(body, type.core.id);
  const resource: Resource = {};
  for (const [name, value] of Object.entries(body)) {
    const { extension } = type;
    if (extension && isUrn(name, extension.id)) {
      set(resource, extension.id, readExtension(type, value));
      continue;
    }
    const attribute = coreAttribute(type, name);
    if (!attribute) throw unknownAttribute(name, type.name);
    if (attribute.mutability !== "readOnly") set(resource, attribute.name, readValue(attribute, value));
  }
  return resource;
}

/** Reads an object with attributes of the type's extension. @throws invalidSyntax, invalidValue */
export function readExtension({ extension }: ResourceType, value: unknown): Resource | undefined {
  if (extension === null || value === null) return undefined;
  if (!isObject(value)) throw scimProblem("invalidValue", `${extension.id}: expected an object.`);
  return readAttributes(value, extension.name, (name) => attributeOf(extension, name));
}

/** Checks that a message or resource says that it has this schema. @throws invalidSyntax */
export function requireSchema({ schemas }: Resource, urn: string): void {
  const names = Array.isArray(schemas) ? schemas : [];
  if (names.some((each) => typeof each === "string" && isUrn(each, urn))) return;
  throw scimProblem("invalidSyntax", `schemas: expected an array with "${urn}".`);
}

/** Sets a value; undefined removes it, so that an empty value counts as absent. */
export function set(resource: Resource, name: string, value: unknown): void {
  if (value === undefined) delete resource[name];
  else resource[name] = value;
}

/** Reads the value of an attribute; undefined if it is empty. @throws invalidSyntax, invalidValue */
export function readValue(attribute: Attribute, value: unknown): unknown {
  if (!attribute.multiValued) return readSingle(attribute, unwrapped(value));
  if (value === null) return undefined;
  if (!Array.isArray(value)) throw wrong(attribute, "an array", value);
  const values = value.map((each) => readSingle(attribute, each)).filter((each) => each !== undefined);
  if (attribute.name !== "members" && values.length > MAX_VALUES) throw tooManyValues(attribute.name);
  if (values.filter(isPrimary).length > 1) {
    throw scimProblem("invalidValue", `${attribute.name}: at most one value can be primary.`);
  }
  return values.length > 0 ? values : undefined;
}

export const tooManyValues = (name: string) =>
  scimProblem("invalidValue", `${name}: expected at most ${MAX_VALUES} values.`);

export const isPrimary = (value: unknown): boolean => isObject(value) && value.primary === true;

/** Microsoft Entra sends some single values as an array of one. */
const unwrapped = (value: unknown): unknown => Array.isArray(value) && value.length === 1 ? value[0] : value;

/** Reads one value. Microsoft Entra sends booleans as texts, and the text alone for a value with attributes. */
function readSingle(attribute: Attribute, value: unknown): unknown {
  if (value === null || value === "") return undefined;
  if (attribute.type === "complex") {
    if (typeof value === "string" && subAttributeOf(attribute, "value")) {
      return { value: limited(attribute, value) };
    }
    if (!isObject(value)) throw wrong(attribute, "an object", value);
    return readAttributes(value, attribute.name, (name) => subAttributeOf(attribute, name));
  }
  if (attribute.type === "boolean") {
    if (typeof value === "boolean") return value;
    const word = typeof value === "string" ? value.toLowerCase() : "";
    if (word === "true" || word === "false") return word === "true";
    throw wrong(attribute, "a boolean", value);
  }
  if (typeof value !== "string") throw wrong(attribute, "a text", value);
  return limited(attribute, value);
}

/** Reads the attributes that `of` has; undefined if all are empty. */
function readAttributes(
  value: Resource,
  of: string,
  find: (name: string) => Attribute | undefined,
): Resource | undefined {
  const read: Resource = {};
  for (const [name, each] of Object.entries(value)) {
    const attribute = find(name);
    if (!attribute) throw unknownAttribute(name, of);
    if (attribute.mutability !== "readOnly") set(read, attribute.name, readValue(attribute, each));
  }
  return Object.keys(read).length > 0 ? read : undefined;
}

function limited({ name }: Attribute, text: string): string {
  if (text.length <= MAX_LENGTH) return text.normalize("NFC");
  throw scimProblem("invalidValue", `${name}: expected at most ${MAX_LENGTH} characters.`);
}

/** Reads a text that the service checks by its own rule. @throws invalidValue */
export function validText(schema: z.ZodType<string>, value: unknown, name: string): string {
  const { data, error } = schema.safeParse(value);
  if (data !== undefined) return data;
  throw scimProblem("invalidValue", `${name}: ${error?.issues[0]?.message ?? "invalid"}.`);
}

const MAX_EXTERNAL_ID = 200;

/** The external id of a resource; null: none. @throws invalidValue */
export function externalIdOf({ externalId }: Resource): string | null {
  if (typeof externalId !== "string") return null;
  if (externalId.length <= MAX_EXTERNAL_ID) return externalId;
  throw scimProblem("invalidValue", `externalId: expected at most ${MAX_EXTERNAL_ID} characters.`);
}

const unknownAttribute = (name: string, of: string) =>
  scimProblem(
    "invalidSyntax",
    `There is no attribute "${name.slice(0, 100)}" of ${of}; see /scim/v2/Schemas.`,
  );

const wrong = ({ name }: Attribute, expected: string, found: unknown) =>
  scimProblem("invalidValue", `${name}: expected ${expected}, found ${JSON.stringify(found).slice(0, 100)}.`);
