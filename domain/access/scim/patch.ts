import { isObject } from "../../shared/shapes.ts";
import { type Filter, nameOf, parsePath, type Path, type Target, type Value } from "./filter.ts";
import { type Attribute, type ResourceType, scimProblem } from "./schema.ts";
import {
  isPrimary,
  MAX_VALUES,
  readExtension,
  readValue,
  requireSchema,
  type Resource,
  set,
  tooManyValues,
} from "./values.ts";

const PATCH_OP = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
const MAX_OPERATIONS = 1_000;
/** Members of a value without a path that are the service's; Okta sends the id of the group along. */
const OWN_MEMBERS = ["schemas", "id", "meta"];

interface Operation {
  op: "add" | "replace" | "remove";
  path: string | null;
  value: unknown;
}

/** Reads the operations of a PATCH body; Microsoft Entra writes their names in capitals. @throws invalidSyntax */
export function readPatch(body: unknown): Operation[] {
  if (!isObject(body)) throw scimProblem("invalidSyntax", "Expected a PatchOp as a JSON object.");
  requireSchema(body, PATCH_OP);
  const { Operations: operations } = body;
  if (!Array.isArray(operations) || operations.length === 0 || operations.length > MAX_OPERATIONS) {
    throw scimProblem("invalidSyntax", `Operations: expected an array of 1 to ${MAX_OPERATIONS} operations.`);
  }
  return operations.map(readOperation);
}

function readOperation(given: unknown): Operation {
  const { op: name, path = null, value } = isObject(given) ? given : {};
  const op = (["add", "replace", "remove"] as const).find((each) =>
    typeof name === "string" && each === name.toLowerCase()
  );
  if (!op) throw scimProblem("invalidSyntax", "op: expected add, replace or remove.");
  if (path !== null && typeof path !== "string") throw scimProblem("invalidPath", "path: expected a text.");
  if (op !== "remove" && value === undefined) throw scimProblem("invalidValue", `${op}: expected a value.`);
  return { op, path, value };
}

/**
 * Applies PATCH operations (RFC 7644, 3.5.2) in order and returns the changed resource. An operation that fails changes
 * nothing of `resource`.
 * @throws invalidPath, noTarget, mutability, invalidValue, invalidSyntax (an unknown attribute in a value)
 */
export function applyPatch(type: ResourceType, resource: Resource, operations: Operation[]): Resource {
  const result = structuredClone(resource);
  for (const { op, path, value } of operations) {
    if (path !== null) applyAt(type, result, { op, path: parsePath(type, path), value });
    else applyMembers(type, result, op, value);
  }
  return result;
}

/** Without a path, the members of the value are paths: `name.givenName`, `emails[type eq "work"].value`, or attributes. */
function applyMembers(type: ResourceType, resource: Resource, op: Operation["op"], value: unknown): void {
  if (op === "remove") throw scimProblem("noTarget", "remove: expected a path.");
  if (!isObject(value)) {
    throw scimProblem("invalidValue", `${op} without a path: expected an object as value.`);
  }
  for (const [name, each] of Object.entries(value)) {
    if (OWN_MEMBERS.includes(name)) continue;
    const path = parsePath(type, name);
    if (path.target?.attribute.mutability === "readOnly") continue;
    applyAt(type, resource, { op, path, value: each });
  }
}

function applyAt(
  type: ResourceType,
  resource: Resource,
  { op, path: { target, filter }, value }: Change & { path: Path },
): void {
  const { extension } = type;
  if (target === null) {
    if (extension === null) return;
    const given = op === "remove" ? undefined : readExtension(type, value);
    const kept = resource[extension.id];
    set(resource, extension.id, op === "remove" ? undefined : merged(kept, given));
    return;
  }
  requireWritable(target, op);
  const { attribute, isExtension } = target;
  const container = isExtension && extension ? { ...resource[extension.id] as Resource } : resource;
  const before = container[attribute.name];
  const after = attribute.multiValued
    ? severalAfter(target, filter, asList(before), { op, value })
    : singleAfter(target, filter, before, { op, value });
  set(container, attribute.name, isEmpty(after) ? undefined : after);
  if (isExtension && extension) set(resource, extension.id, isEmpty(container) ? undefined : container);
}

function requireWritable(target: Target, op: Operation["op"]): void {
  const { attribute, sub } = target;
  if ([attribute, sub].some((each) => each?.mutability === "readOnly")) {
    throw scimProblem("mutability", `${nameOf(target)} is read-only.`);
  }
  if (op === "remove" && attribute.required && sub === null) {
    throw scimProblem("mutability", `${attribute.name} is required, so it cannot be removed.`);
  }
}

const asList = (value: unknown): unknown[] => Array.isArray(value) ? value : [];
const isEmpty = (value: unknown): boolean =>
  value === undefined || typeof value === "object" && Object.keys(value ?? {}).length === 0;

/** Members of `given` replace those of `kept`. */
const merged = (kept: unknown, given: unknown): Resource => ({ ...kept as Resource, ...given as Resource });

type Change = Pick<Operation, "op" | "value">;

function singleAfter(
  { attribute, sub }: Target,
  filter: Filter | null,
  before: unknown,
  { op, value }: Change,
) {
  if (filter) throw scimProblem("invalidPath", `${attribute.name} has one value, so it takes no filter.`);
  if (sub) return withSub(before, sub, { op, value });
  if (op === "remove") return undefined;
  const given = readValue(attribute, value);
  return attribute.type === "complex" && given !== undefined ? merged(before, given) : given;
}

/** The complex value with another value of one of its attributes. */
function withSub(before: unknown, sub: Attribute, { op, value }: Change): Resource {
  const after = { ...before as Resource };
  set(after, sub.name, op === "remove" ? undefined : readValue(sub, value));
  return after;
}

function severalAfter(target: Target, filter: Filter | null, before: unknown[], change: Change): unknown[] {
  const after = filter
    ? selectedAfter(target, filter, before, change)
    : target.sub
    ? everyAfter(target.sub, before, change)
    : allAfter(target.attribute, before, change);
  const { name } = target.attribute;
  if (name !== "members" && after.length > MAX_VALUES) throw tooManyValues(name);
  return onePrimary(target.attribute, before, after.filter((each) => !isEmpty(each)));
}

/** All values of the attribute. OneLogin and Microsoft Entra remove some members by a value without a filter. */
function allAfter(attribute: Attribute, before: unknown[], { op, value }: Change): unknown[] {
  if (op === "remove" && (value === undefined || value === null)) return [];
  const given = asList(readValue(attribute, Array.isArray(value) || value === null ? value : [value]));
  const keyOf = attribute.name === "members" || op === "remove" ? idOf : contentOf;
  const keyed = new Map(given.map((each) => [keyOf(each), each]));
  if (op === "replace") return [...keyed.values()];
  if (op === "remove") return before.filter((each) => !keyed.has(keyOf(each)));
  for (const each of before) keyed.delete(keyOf(each));
  return [...before, ...keyed.values()];
}

/** A value is about its `value`, in any letter case. */
const idOf = (value: unknown): string =>
  isObject(value) && typeof value.value === "string" ? value.value.toLowerCase() : contentOf(value);

function contentOf(value: unknown): string {
  if (!isObject(value)) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return JSON.stringify(names.map((name) => [name, value[name]]));
}

/** One attribute of all values. */
function everyAfter(sub: Attribute, before: unknown[], change: Change): unknown[] {
  if (before.length > 0) return before.map((each) => withSub(each, sub, change));
  return change.op === "remove" ? [] : [withSub({}, sub, change)];
}

/** The values that pass the filter. A removal of what is not there changes nothing; an addition makes a value that passes. */
function selectedAfter(
  { attribute, sub }: Target,
  filter: Filter,
  before: unknown[],
  change: Change,
): unknown[] {
  const { op, value } = change;
  const isSelected = (each: unknown) => isObject(each) && matches(filter, each);
  if (op === "remove" && !sub) return before.filter((each) => !isSelected(each));
  const [given] = sub || op === "remove"
    ? []
    : asList(readValue(attribute, Array.isArray(value) ? value : [value]));
  const changed = (each: unknown) =>
    sub ? withSub(each, sub, change) : op === "add" ? merged(each, given) : given;
  if (before.some(isSelected)) return before.map((each) => isSelected(each) ? changed(each) : each);
  if (op === "remove") return before;
  const described = op === "add" ? describedBy(filter) : null;
  if (described) return [...before, changed(described)];
  throw scimProblem("noTarget", `No value of ${attribute.name} passes the filter of the path.`);
}

/** The value that a filter of equalities describes; null if it is another filter. */
function describedBy(filter: Filter): Resource | null {
  if (filter.op === "and") {
    const [left, right] = [describedBy(filter.left), describedBy(filter.right)];
    return left && right && { ...left, ...right };
  }
  return filter.op === "eq" && filter.target.sub ? { [filter.target.sub.name]: filter.value } : null;
}

/** A value that becomes the primary one takes that from the others. */
function onePrimary({ name }: Attribute, before: unknown[], after: unknown[]): unknown[] {
  const primaries = after.filter(isPrimary);
  if (primaries.length < 2) return after;
  const added = primaries.filter((each) => !before.includes(each));
  if (added.length > 1) throw scimProblem("invalidValue", `${name}: at most one value can be primary.`);
  return after.map((each) =>
    isPrimary(each) && !added.includes(each) ? { ...each as Resource, primary: false } : each
  );
}

/** True if a complex value passes a filter in brackets. */
function matches(filter: Filter, item: Resource): boolean {
  switch (filter.op) {
    case "and":
      return matches(filter.left, item) && matches(filter.right, item);
    case "or":
      return matches(filter.left, item) || matches(filter.right, item);
    case "not":
      return !matches(filter.inner, item);
    case "some":
      return false;
    case "pr":
      return valueAt(filter.target, item) !== undefined;
    default:
      return compares(
        filter.op,
        valueAt(filter.target, item),
        filter.value,
        filter.target.sub?.caseExact ?? false,
      );
  }
}

const valueAt = ({ sub }: Target, item: Resource): unknown => sub ? item[sub.name] : undefined;

/** ASCII needs no normalization, and a group may have many thousand ids. */
const foldedText = (text: string): string =>
  (/[^\x20-\x7e]/.test(text) ? text.normalize("NFKC") : text).toLowerCase();

function compares(op: string, found: unknown, value: Value, isExact: boolean): boolean {
  const form = (each: unknown) => typeof each === "string" && !isExact ? foldedText(each) : each;
  const [a, b] = [form(found ?? null), form(value)];
  if (op === "eq") return a === b;
  if (op === "ne") return a !== b;
  if (typeof a !== "string" || typeof b !== "string") return false;
  switch (op) {
    case "co":
      return a.includes(b);
    case "sw":
      return a.startsWith(b);
    case "ew":
      return a.endsWith(b);
    case "gt":
      return a > b;
    case "ge":
      return a >= b;
    case "lt":
      return a < b;
    default:
      return a <= b;
  }
}
