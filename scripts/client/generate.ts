import { CATALOGUE } from "../../domain/problems/problem.ts";
import type { OpenApiDocument, Operation } from "../../routes/shared/openapi.ts";
import type { Schema } from "../../routes/shared/openapi_examples.ts";
import { type Parameter, parametersOf } from "../../routes/shared/openapi_sharing.ts";

/** Property names of areas whose own name does not make a good one. */
const AREA_NAMES: Record<string, string> = {
  "Sign-in": "auth",
  "API keys": "apiKeys",
  "Operations": "service",
};

/** Source of the client's generated module: the types of the document, a class per area, and the class `Steward`. */
export function generateClient(document: OpenApiDocument): string {
  const { schemas } = document.components;
  const areas = document.tags.map(({ name, description }) => ({
    name: AREA_NAMES[name] ?? camel(name),
    description,
    operations: operationsOf(document, name),
  })).filter(({ operations }) => operations.length > 0);
  return [
    `// Generated from the OpenAPI document of Steward ${document.info.version}. Do not edit: regenerate it.`,
    `import { events, type StreamEvent, upload, type Upload } from "./helpers.ts";`,
    `import { type Page, type RequestOptions, segment, type StewardOptions, StewardProblem, type Tokens, Transport } from "./transport.ts";`,
    `export { each, type Page, type RequestOptions, type StewardOptions, StewardProblem, type Tokens, Transport } from "./transport.ts";`,
    `export type { StreamEvent, Upload } from "./helpers.ts";`,
    `import { WorkLoop } from "./work.ts";`,
    `import type { Handlers, WorkOptions } from "./work_types.ts";`,
    `export * from "./work_types.ts";`,
    `/** Every error code of the service. */\nexport type ProblemCode = ${
      Object.keys(CATALOGUE).map((code) => `"${code}"`).join(" | ")
    };`,
    IS_PROBLEM,
    ...Object.entries(schemas).map(([name, schema]) => typeDeclaration(name, schema)),
    ...areas.flatMap(({ operations }) => operations.map(queryDeclaration)).filter((text) => text !== ""),
    ...areas.map((area) => areaClass(area)),
    stewardClass(areas),
  ].join("\n\n") + "\n";
}

const IS_PROBLEM =
  `/** True if \`error\` is an error response of the service; with \`codes\`, only if it has one of them. */
export function isProblem(error: unknown, ...codes: ProblemCode[]): error is StewardProblem {
  return error instanceof StewardProblem && (codes.length === 0 || codes.includes(error.code as ProblemCode));
}`;

interface Area {
  name: string;
  description: string;
  operations: RoutedOperation[];
}

/** An operation with its method and path. */
interface RoutedOperation {
  method: string;
  path: string;
  operation: Operation;
  queries: Parameter[];
}

const operationsOf = (document: OpenApiDocument, tag: string): RoutedOperation[] =>
  Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).filter(([, { tags }]) => tags.includes(tag))
      .map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        operation,
        queries: parametersOf(document, operation).filter((parameter) => parameter.in === "query"),
      }))
  );

const camel = (name: string): string =>
  name.replaceAll(/[^A-Za-z]+(\w)?/g, (_, letter = "") => letter.toUpperCase()).replace(
    /^./,
    (c) => c.toLowerCase(),
  );
const pascal = (name: string): string => name.replace(/^./, (letter) => letter.toUpperCase());
const comment = (lines: (string | undefined)[], indent = ""): string => {
  const texts = lines.filter((line) => line !== undefined && line !== "").map((line) =>
    line?.replaceAll("*/", "*\\/")
  );
  if (texts.length === 0) return "";
  if (texts.length === 1) return `${indent}/** ${texts[0]} */\n`;
  return `${indent}/**\n${texts.map((line) => `${indent} * ${line}\n`).join("")}${indent} */\n`;
};

/** A schema as a TypeScript type. */
function typeOf(schema: Schema): string {
  if (schema.$ref) return schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return union(choices.map(typeOf));
  const rows = rowsOf(schema);
  if (rows) return `Page<${typeOf(rows)}>`;
  if (schema.allOf) return schema.allOf.map(typeOf).join(" & ");
  const types = [schema.type].flat();
  if (schema.enum) {
    return union([
      ...schema.enum.map((value) => JSON.stringify(value)),
      ...types.includes("null") ? ["null"] : [],
    ]);
  }
  return union(types.map((type) => simpleType(type, schema)));
}

const union = (types: string[]): string => [...new Set(types)].join(" | ") || "unknown";

function simpleType(type: string | undefined, schema: Schema): string {
  if (type === "integer" || type === "number") return "number";
  if (type === "boolean" || type === "null") return type;
  if (type === "string") return schema.format === "binary" ? "Blob" : "string";
  if (type === "array") return `(${typeOf(schema.items ?? {})})[]`.replace(/^\((\w+)\)\[\]$/, "$1[]");
  if (type !== "object") return "unknown";
  if (schema.properties) return fields(schema);
  const { additionalProperties: more } = schema;
  return `Record<string, ${typeof more === "object" ? typeOf(more) : "unknown"}>`;
}

/** The rows of a page; undefined if the schema is no page. */
const rowsOf = ({ allOf: [base, own] = [] }: Schema): Schema | undefined =>
  base?.$ref === "#/components/schemas/PageInfo" ? own?.properties?.items?.items ?? {} : undefined;

function fields(schema: Schema & { description?: string }): string {
  const required = new Set(schema.required);
  const lines = Object.entries(schema.properties ?? {}).map(([name, property]) =>
    comment([(property as { description?: string }).description]) +
    `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)}${required.has(name) ? "" : "?"}: ${
      typeOf(property)
    };`
  );
  return `{\n${lines.join("\n")}\n}`;
}

function typeDeclaration(name: string, schema: Schema & { description?: string }): string {
  return `${comment([schema.description])}export type ${name} = ${typeOf(schema)};`;
}

const queryName = ({ operation }: RoutedOperation): string => `${pascal(operation.operationId)}Query`;

function queryDeclaration(routed: RoutedOperation): string {
  const { queries } = routed;
  if (queries.length === 0) return "";
  const lines = queries.map(({ name, required, schema, description }) =>
    `${comment([description])}${name}${required ? "" : "?"}: ${typeOf(schema)};`
  );
  return `export interface ${queryName(routed)} {\n${lines.join("\n")}\n}`;
}

function areaClass({ name, description, operations }: Area): string {
  return `${comment([description])}export class ${pascal(name)}Area {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

${operations.map(methodOf).join("\n\n")}
}`;
}

/** Source of a method. Parameters: path parameters, body, query, request options. */
function methodOf(routed: RoutedOperation): string {
  const { method, path, operation } = routed;
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "");
  const json = operation.requestBody?.content["application/json"];
  const form = operation.requestBody?.content["multipart/form-data"];
  const raw = Object.keys(operation.requestBody?.content ?? {}).some((type) => type.startsWith("image/"));
  const { queries } = routed;
  const needsQuery = queries.some(({ required }) => required);
  const bodyType = json ? typeOf(json.schema) : "";
  const parameters = [
    ...names.map((name) => `${name}: string${/number/i.test(name) ? " | number" : ""}`),
    ...(json ? [`body${operation.requestBody?.required ? "" : "?"}: ${bodyType}`] : []),
    ...(form || raw ? ["file: Blob"] : []),
    ...(queries.length > 0 ? [`query: ${queryName(routed)}${needsQuery ? "" : " = {}"}`] : []),
    "options: RequestOptions = {}",
  ];
  const { type, as } = responseOf(operation);
  const pathTemplate = "`" + path.replaceAll(/\{(\w+)\}/g, "${segment($1)}") + "`";
  const [part] = Object.keys(form?.schema.properties ?? {});
  const request = [
    `method: "${method}", path: ${pathTemplate}`,
    ...(queries.length > 0 ? ["query"] : []),
    ...(json ? ["body"] : []),
    ...(form ? [`body: formOf("${part}", file)`] : []),
    ...(raw ? ["body: file"] : []),
    "options",
    ...(as ? [`as: "${as}"`] : []),
  ];
  return comment([operation.summary, operation.description], "  ") +
    `  ${operation.operationId}(${parameters.join(", ")}): Promise<${type}> {
    return this.#transport.request({ ${request.join(", ")} });
  }`;
}

/** The TypeScript type of a successful response, and how the transport reads it. */
function responseOf({ responses }: Operation): { type: string; as?: string } {
  const [[status, success] = ["204", {}]] = Object.entries(responses).filter(([status]) => status < "400");
  const content = "content" in success ? success.content ?? {} : {};
  const [type] = Object.keys(content);
  if (status.startsWith("3") || type === "text/event-stream" || type?.startsWith("image/")) {
    return { type: "Response", as: "response" };
  }
  if (!type) return { type: "void", as: "nothing" };
  const { schema } = content[type] ?? {};
  return type === "application/json" ? { type: typeOf(schema ?? {}) } : { type: "string", as: "text" };
}

function stewardClass(areas: Area[]): string {
  const all = areas.map(({ name, description }) => ({ name, description, type: `${pascal(name)}Area` }));
  return `const formOf = (part: string, file: Blob): FormData => {
  const form = new FormData();
  form.set(part, file, file instanceof File ? file.name : part);
  return form;
};

/** Client of the service. Sends requests as the signed-in user, or with the given token. */
export class Steward extends Transport {
${
    all.map(({ name, description, type }) => `${comment([description], "  ")}  readonly ${name}: ${type};`)
      .join("\n")
  }

  constructor(options: StewardOptions) {
    super(options);
${all.map(({ name, type }) => `    this.${name} = new ${type}(this);`).join("\n")}
  }

  /** Signs in with email and password; later requests use the new tokens. @throws StewardProblem */
  async signIn(email: string, password: string, o: { tenantId?: string; global?: boolean } = {}): Promise<SignInDto> {
    const signedIn = await this.auth.signIn({ email, password, ...o });
    this.useTokens(signedIn);
    return signedIn;
  }

  /** Switches to another tenant of the signed-in user. @throws StewardProblem */
  async switchTenant(tenantId: string): Promise<SignInDto> {
    const signedIn = await this.auth.switchTenant({ tenantId });
    this.useTokens(signedIn);
    return signedIn;
  }

  /** Signs out: ends the session and removes the tokens. @throws StewardProblem */
  async signOut(): Promise<void> {
    await this.auth.signOut();
    this.useTokens(null);
  }

  /** Reserves a file, uploads its content to the object store, and completes it. The service then scans it. */
  upload(file: Upload): Promise<FileRecord> {
    return upload<FileRecord>(this, file);
  }

  /** Yields a user's new in-app notifications. Reconnects when the connection breaks, until \`signal\` is aborted. */
  userNotifications(
    userId: string,
    o: { lastEventId?: string; signal?: AbortSignal } = {},
  ): AsyncGenerator<StreamEvent<UserNotificationDto>, void, void> {
    return events<UserNotificationDto>(this, "/api/v1/user-notifications/stream", { userId }, o);
  }

  /** Claims jobs of the handlers' types and runs them, until \`o.signal\` is aborted. @throws StewardProblem */
  work(handlers: Handlers, o: WorkOptions = {}): Promise<void> {
    return new WorkLoop(this, handlers, o).run();
  }
}`;
}
