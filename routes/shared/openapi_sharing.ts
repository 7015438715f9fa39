// Gives repeated parts of the API document a name, so that the document stays small and clients get named types.
import type { OpenApiDocument, Operation } from "./openapi_document.ts";
import type { Schema } from "./openapi_examples.ts";

/** A parameter of an operation, without a reference. */
export interface Parameter {
  in: string;
  name: string;
  required?: boolean;
  description?: string;
  schema: Schema & { description?: string };
  example?: unknown;
}

type Parameters = Record<string, Parameter>;

/** All operations with their method and path. */
const operationsOf = (document: OpenApiDocument): Operation[] =>
  Object.values(document.paths).flatMap((operations) => Object.values(operations));

/** The parameters of an operation, with references resolved. */
export const parametersOf = (
  document: OpenApiDocument,
  operation: Pick<Operation, "parameters">,
): Parameter[] =>
  (operation.parameters ?? []).map((parameter) => {
    const { $ref } = parameter;
    if (typeof $ref !== "string") return parameter as unknown as Parameter;
    const shared = (document.components.parameters as Parameters)[$ref.slice($ref.lastIndexOf("/") + 1)];
    if (!shared) throw new Error(`the document lacks ${$ref}`);
    return shared;
  });

/** Parameters of several operations become components such as `page`. */
export function shareParameters(document: OpenApiDocument): void {
  const places = new Map<string, [list: Record<string, unknown>[], index: number][]>();
  for (const { parameters = [] } of operationsOf(document)) {
    parameters.forEach((parameter, index) => {
      if (parameter.$ref) return;
      const text = JSON.stringify(parameter);
      places.set(text, [...places.get(text) ?? [], [parameters, index]]);
    });
  }
  const shared = document.components.parameters as Record<string, object>;
  const repeated = [...places].filter(([, at]) => at.length > 1).toSorted(([, a], [, b]) =>
    b.length - a.length
  );
  for (const [text, at] of repeated) {
    const parameter: Parameter = JSON.parse(text);
    const name = freeName(parameter.name, shared);
    shared[name] = parameter;
    for (const [list, index] of at) list[index] = { $ref: `#/components/parameters/${name}` };
  }
}

const ENVELOPES = [
  {
    base: "PageInfo",
    member: "items",
    suffix: "Page",
    others: "totalCount,pageNumber,pageSize,totalPages,hasNext,hasPrevious",
  },
  { base: "BulkCounts", member: "results", suffix: "BulkAnswer", others: "total,succeeded,failed,failures" },
];

/** Pages, answers of bulk requests and other bodies without a name become components. */
export function nameBodies(document: OpenApiDocument): void {
  const { schemas } = document.components;
  const names = new Map<string, string>();
  const nameOf = (schema: Schema, wanted: string): Schema => {
    if (!isObject(schema)) return schema;
    const text = JSON.stringify(schema);
    let name = names.get(text);
    if (!name) {
      const { named, value } = withBase(schema, wanted, schemas);
      name = freeName(named, schemas);
      names.set(text, name);
      schemas[name] = value;
    }
    return { $ref: `#/components/schemas/${name}` };
  };
  for (const operation of operationsOf(document)) {
    const own = operation.operationId.replace(/^./, (letter) => letter.toUpperCase());
    for (const content of Object.values(operation.requestBody?.content ?? {})) {
      content.schema = nameOf(content.schema, `${own}Request`);
    }
    for (const response of Object.values(operation.responses)) {
      if (!("content" in response)) continue;
      for (const content of Object.values(response.content ?? {})) {
        content.schema = nameOf(content.schema, `${own}Answer`);
      }
    }
  }
}

const isObject = ({ type, properties }: Schema): boolean => type === "object" && properties !== undefined;

/** Replaces the members that all pages, or all bulk answers, have by a reference to a shared base. */
function withBase(schema: Schema, wanted: string, schemas: Record<string, Schema>) {
  const { properties = {}, required = [] } = schema;
  const envelope = ENVELOPES.find(({ member, others }) =>
    properties[member] !== undefined &&
    Object.keys(properties).filter((name) => name !== member).join() === others
  );
  if (!envelope) return { named: wanted, value: schema };
  const { base, member, suffix } = envelope;
  const { [member]: rows = {}, ...others } = properties;
  const basis: Schema = {
    type: "object",
    properties: others,
    required: required.filter((name) => name !== member),
  };
  schemas[base] ??= basis;
  const row = rows.items?.$ref?.slice("#/components/schemas/".length).replace(/Dto$/, "");
  const named = row && suffix === "Page" ? row + suffix : wanted.replace(/(Request|Answer)$/, suffix);
  if (JSON.stringify(schemas[base]) !== JSON.stringify(basis)) return { named, value: schema };
  const own: Schema = { type: "object", properties: { [member]: rows }, required: [member] };
  return { named, value: { allOf: [{ $ref: `#/components/schemas/${base}` }, own] } };
}

function freeName(wanted: string, taken: Record<string, unknown>): string {
  let name = wanted;
  for (let n = 2; Object.hasOwn(taken, name); n++) name = `${wanted}${n}`;
  return name;
}

/** Removes `required: false`, which is the default, and descriptions that occur twice. */
export function dropRepetition(document: OpenApiDocument): void {
  for (const { parameters = [] } of operationsOf(document)) {
    for (const parameter of parameters as unknown as Parameter[]) {
      if (parameter.required === false) delete parameter.required;
      if (parameter.schema?.description === parameter.description) delete parameter.schema?.description;
    }
  }
}
