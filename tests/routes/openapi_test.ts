// Calls every operation and checks each answer against the document with independent validators.
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import assert from "node:assert/strict";
import { EVENT_TYPES, PING } from "../../domain/events/event_types.ts";
import { CATALOGUE } from "../../domain/problems/catalogue.ts";
import { ENDPOINTS } from "../../routes/endpoints.ts";
import type { Endpoint } from "../../routes/shared/endpoint.ts";
import type { OpenApiDocument, Operation } from "../../routes/shared/openapi.ts";
import type { HttpClient } from "../support/http.ts";
import { setupShared } from "../support/setup.ts";
import { pathOf } from "../support/isolation.ts";
import { ROWS } from "./isolation/all_rows.ts";
import { documentedCodes } from "../support/documented_codes.ts";
import type { Ask } from "./isolation/rows.ts";
import { buildWorld } from "./isolation/world.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const world = await buildWorld(t);
const document: OpenApiDocument = (await t.nobody.get("/openapi.json")).body;

const ajv = new Ajv2020({ strict: false, allErrors: true });
(addFormats as unknown as (ajv: Ajv2020) => void)(ajv); // its types match another module format only
ajv.addFormat("binary", true);
ajv.addSchema(document, "document");
const pointer = (...keys: string[]) =>
  keys.map((key) => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/");

/** Resolves a reference; other values are returned unchanged. */
function placeOf(keys: string[]): string[] {
  // deno-lint-ignore no-explicit-any -- walks a document of any shape
  const value = keys.reduce<any>((part, key) => part?.[key], document);
  return value?.$ref ? value.$ref.slice(2).split("/") : keys;
}
// deno-lint-ignore no-explicit-any -- a part of a document of any shape
const partAt = (keys: string[], of = document): any => keys.reduce<any>((part, key) => part?.[key], of);

/** Validation errors of `value` against the schema at this place. */
function mistakes(keys: string[], value: unknown): string {
  const validate = ajv.getSchema(`document#/${pointer(...keys)}`);
  assert.ok(validate, `no schema at ${keys.join(" ")}`);
  return validate(value) ? "" : ajv.errorsText(validate.errors);
}

interface Observed {
  status: number;
  type: string;
  headers: Headers;
  text: string;
}

/** Sends a request and reads the answer; of a stream only the head. */
async function observe(by: HttpClient, spec: Endpoint, ask: Ask): Promise<Observed> {
  const isForm = ask.body instanceof FormData;
  const response = await fetch(by.baseUrl + pathOf(spec.path, ask), {
    method: spec.method.toUpperCase(),
    redirect: "manual",
    signal: AbortSignal.timeout(20_000),
    headers: {
      ...(by.token ? { authorization: `Bearer ${by.token}` } : {}),
      ...(ask.body === undefined || isForm ? {} : { "content-type": "application/json" }),
    },
    ...(ask.body === undefined ? {} : { body: isForm ? ask.body as FormData : JSON.stringify(ask.body) }),
  });
  const type = response.headers.get("content-type")?.split(";")[0] ?? "";
  const isStream = type === "text/event-stream";
  const text = isStream ? "" : await response.text();
  if (isStream) await response.body?.cancel();
  return { status: response.status, type, headers: response.headers, text };
}

/** Sends a request and stores differences between the answer and the document. */
async function tryOut(by: HttpClient, spec: Endpoint, ask: Ask, unfit: string[]): Promise<number> {
  const observed = await observe(by, spec, ask);
  try {
    fits(spec, observed);
  } catch (error) {
    unfit.push((error as Error).message);
  }
  return observed.status;
}

/** @throws AssertionError if the document does not contain this answer */
function fits(spec: Endpoint, { status, type, headers, text }: Observed): void {
  const said = `${spec.id} answered ${status} ${type} ${text.slice(0, 600)}`;
  const operation: Operation = partAt(["paths", spec.path, spec.method]);
  assert.notEqual(status, 500, said);
  const key = operation.responses[status] ? String(status) : "default";
  assert.ok(status >= 400 || key !== "default", `an undocumented status: ${said}`);
  if (type === "application/problem+json") {
    const { code } = JSON.parse(text);
    assert.ok(documentedCodes(document, operation, status).includes(code), `an undocumented code: ${said}`);
  }
  const place = placeOf(["paths", spec.path, spec.method, "responses", key]);
  const response = partAt(place);
  const types = Object.keys(response.content ?? {}).map((type) => type.split(";")[0]);
  if (text !== "" || type !== "") assert.ok(types.includes(type), `a type other than ${types}: ${said}`);
  const named = Object.keys(response.headers ?? {}).map((name) => name.toLowerCase());
  for (const name of ["etag", "location"]) {
    assert.equal(headers.has(name), named.includes(name), `${name} is not as documented: ${said}`);
  }
  assert.match(headers.get("traceresponse") ?? "", /^00-[0-9a-f]{32}-/);
  if (!type.includes("json")) return;
  assert.equal(mistakes([...place, "content", type, "schema"], JSON.parse(text)), "", said);
}

const victims = (spec: Endpoint): Ask => {
  const row = ROWS[spec.id];
  const id = (kind: keyof typeof world.ids) => world.ids[kind];
  if (!row || "open" in row) return OPEN[spec.id] ?? {};
  if ("own" in row) return row.own(world);
  return "refused" in row ? row.ask(id) : row.names(id, { ...world, outsider: world.victim });
};
const OPEN: Record<string, Ask> = {
  signIn: { body: { email: "nobody@example.test", password: "none" } },
  refresh: { body: { refreshToken: "none" } },
  forgotPassword: { body: { email: "nobody@example.test" } },
  resetPassword: { body: { token: "none", newPassword: "correct horse battery" } },
  readOfferedInvitation: { body: { token: "none" } },
  acceptInvitation: { body: { token: "none", password: "correct horse battery" } },
  exchangeOpenIdCode: { body: { code: "none" } },
  readProblem: { params: { code: "VALIDATION_ERROR" } },
  docsAsset: { params: { asset: "docs.css" } },
  docsOperation: { params: { id: "signIn" } },
};

/** The order of operations: reads first, deletions later, operations that end sessions last. */
const ENDING = [
  "signOut",
  "endOwnSession",
  "changePassword",
  "deactivateUser",
  "deleteTenant",
  "switchTenant",
];
const order = ["get", "put", "post", "delete"];
const rank = ({ id, method }: Endpoint) => ENDING.includes(id) ? 9 : order.indexOf(method);
const succeeded = new Set<string>();

Deno.test("an independent validator accepts the document", async () => {
  const copy = structuredClone(document) as unknown as Parameters<Validator["validate"]>[0];
  const { valid, errors } = await new Validator().validate(copy);
  assert.ok(valid, JSON.stringify(errors, null, 1)?.slice(0, 4000));
});

Deno.test("operation ids are unique, and every reference resolves", () => {
  const ids = operations().map((operation) => operation.operationId);
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(ids.toSorted(), ENDPOINTS.map(({ id }) => id).toSorted());
  requireResolved(document);
});

function requireResolved(document: OpenApiDocument): void {
  for (const [, target] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    assert.notEqual(partAt((target ?? "").split("/"), document), undefined, target);
  }
}

Deno.test("every code of the catalogue is answered by some operation", () => {
  const listed = new Set(ENDPOINTS.flatMap((spec) => codesOf(spec)));
  const atNone = [
    "METHOD_NOT_ALLOWED", // not answered by any operation
    "FILE_ARCHIVE_LIMITS_UNPROCESSABLE", // only a rejectionCode: the scan runs after the answer
  ];
  assert.deepEqual(Object.keys(CATALOGUE).filter((code) => !listed.has(code) && !atNone.includes(code)), []);
});

Deno.test("every JSON request body has an example that matches its schema, and so have problems and events", () => {
  for (const spec of ENDPOINTS) {
    const keys = ["paths", spec.path, spec.method, "requestBody", "content", "application/json"];
    if (partAt(keys)) exampleFits(keys);
  }
  for (const type of Object.keys(document.webhooks)) {
    exampleFits(["webhooks", type, "post", "requestBody", "content", "application/json"]);
  }
  const { example } = document.components.schemas.ProblemDocument ?? {};
  assert.equal(mistakes(["components", "schemas", "ProblemDocument"], example), "");
});

const compressed = (text: string): Promise<ArrayBuffer> =>
  new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer();

function exampleFits(keys: string[]): void {
  const content = partAt(keys);
  assert.ok("example" in content, `no example: ${keys.join(" ")}`);
  assert.equal(
    mistakes([...keys, "schema"], content.example),
    "",
    `${keys.join(" ")}: ${JSON.stringify(content.example)}`,
  );
}

Deno.test("the document is small, every list and bulk type has a name, and refusals refer to shared answers", async () => {
  const text = JSON.stringify(document);
  const count = operations().length;
  assert.ok(text.length < 1_600 * count, `${text.length} characters of ${count} operations`);
  const { byteLength } = await compressed(text);
  assert.ok(byteLength < 190 * count, `${byteLength} bytes compressed, of ${count} operations`);
  const own = new Map(ENDPOINTS.map(({ id, answers }) => [id, answers]));
  for (const operation of operations()) {
    const bodies = [operation.requestBody, ...Object.values(operation.responses)].flatMap((body) =>
      Object.values(
        (body as { content?: Record<string, { schema: { properties?: object } }> })?.content ?? {},
      )
    );
    assert.deepEqual(bodies.filter(({ schema }) => schema.properties), [], operation.operationId);
    const declared = own.get(operation.operationId) ?? {};
    const refusals = Object.entries(operation.responses).filter(([status]) =>
      !Object.hasOwn(declared, status)
    );
    assert.ok(refusals.every(([, refusal]) => "$ref" in refusal), operation.operationId);
    assert.ok(operation.responses.default, operation.operationId);
  }
});

Deno.test("each area has a document of its own, complete and much smaller than the whole one", async () => {
  const found: string[] = [];
  for (const { name } of document.tags) {
    const { status, body } = await t.nobody.get(`/openapi.json?area=${encodeURIComponent(name)}`);
    assert.equal(status, 200, name);
    const text = JSON.stringify(body);
    assert.ok(text.length < 120_000, `${name}: ${text.length} characters`);
    const { byteLength } = await compressed(text);
    assert.ok(byteLength < 20_000, `${name}: ${byteLength} bytes compressed`);
    const { valid, errors } = await new Validator().validate(structuredClone(body));
    assert.ok(valid, `${name}: ${JSON.stringify(errors)?.slice(0, 2000)}`);
    requireResolved(body);
    for (const [kind, named] of Object.entries<object>(body.components)) {
      for (const [key, part] of Object.entries(named)) {
        assert.deepEqual(part, partAt(["components", kind, key]));
        const isUsed = kind === "securitySchemes" || text.includes(`"#/components/${kind}/${key}"`);
        assert.ok(isUsed, `${name} does not use ${kind} ${key}`);
      }
    }
    for (const [path, operations] of Object.entries<Record<string, Operation>>(body.paths)) {
      for (const [method, operation] of Object.entries(operations)) {
        assert.deepEqual(operation, partAt(["paths", path, method]));
        found.push(operation.operationId);
      }
    }
    const webhooks = Object.keys(body.webhooks).length;
    assert.equal(webhooks, name === "Webhook endpoints" ? Object.keys(document.webhooks).length : 0);
  }
  assert.deepEqual(found.toSorted(), operations().map(({ operationId }) => operationId).toSorted());
});

Deno.test("a document can have several areas; an unknown one is refused", async () => {
  const { body } = await t.nobody.get("/openapi.json?area=Jobs&area=Audit");
  assert.deepEqual(body.tags.map(({ name }: { name: string }) => name), ["Audit", "Jobs"]);
  const refused = await t.nobody.get("/openapi.json?area=Jobs&area=Cats");
  assert.equal(refused.status, 400);
  assert.match(refused.body.errors.area[0], /^expected some of Sign-in, /);
});

Deno.test("the document has a webhook for every type of event", () => {
  assert.deepEqual(Object.keys(document.webhooks).toSorted(), [...Object.keys(EVENT_TYPES), PING].toSorted());
});

Deno.test("every operation answers anonymous callers and callers without permissions as documented", async () => {
  const powerless = await t.actor();
  const unfit: string[] = [];
  for (const spec of ENDPOINTS) {
    if (ENDING.includes(spec.id)) continue;
    await tryOut(t.nobody, spec, {}, unfit);
    await tryOut(powerless, spec, { body: spec.method === "get" ? undefined : {} }, unfit);
  }
  assert.deepEqual(unfit, []);
});

Deno.test("every operation answers invalid paths, queries and bodies as documented", async () => {
  const unfit: string[] = [];
  for (const spec of ENDPOINTS) {
    if (ENDING.includes(spec.id)) continue;
    const strange = Object.fromEntries(
      [...spec.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, "\u0001 é"]),
    );
    const query = { page: "-1", pageSize: "x", userId: "no", tenantId: "no", search: "\0" };
    await tryOut(t.systemAdmin, spec, { params: strange, query }, unfit);
    if (!spec.body && !spec.lateBody) continue; // without an invalid part the request would take effect
    const body = [1, { "": null }];
    await tryOut(t.systemAdmin, spec, { ...victims(spec), body }, unfit);
  }
  assert.deepEqual(unfit, []);
});

Deno.test("every operation answers callers with permission as documented", async () => {
  const unfit: string[] = [];
  for (const spec of ENDPOINTS.toSorted((a, b) => rank(a) - rank(b))) {
    const row = ROWS[spec.id];
    const isPlatforms = row && "refused" in row;
    const by = isPlatforms ? t.systemAdmin : row && "open" in row ? t.nobody : world.victim;
    if (await tryOut(by, spec, victims(spec), unfit) < 400) succeeded.add(spec.id);
  }
  assert.deepEqual(unfit, []);
  const silent = ENDPOINTS.filter(({ id }) => !succeeded.has(id)).map(({ id }) => id);
  assert.ok(succeeded.size > ENDPOINTS.length * 0.7, `only refusals were seen of ${silent.join(", ")}`);
});

Deno.test("the document describes the errors for a caller without a tenant or with the wrong one", () => {
  const codes = (path: string, status: number) =>
    documentedCodes(document, partAt(["paths", path, "get"]), status);
  assert.deepEqual(codes("/api/v1/roles/{id}", 403), [
    "TENANT_FORBIDDEN",
    "SECOND_FACTOR_REQUIRED",
    "FORBIDDEN",
    "MISSING_PERMISSION",
  ]);
  assert.deepEqual(codes("/api/v1/admin/users", 403), [
    "TENANT_FORBIDDEN",
    "SECOND_FACTOR_REQUIRED",
    "MISSING_PERMISSION",
  ]);
  assert.deepEqual(codes("/api/v1/auth/me", 400), ["VALIDATION_ERROR"]);
  assert.deepEqual(codes("/healthz", 403), []);
});

const operations = () => Object.values(document.paths).flatMap((path) => Object.values(path));

function codesOf(spec: Endpoint): string[] {
  const statuses = new Set(Object.values(CATALOGUE).map(({ status }) => status));
  return [...statuses].flatMap((status) =>
    documentedCodes(document, partAt(["paths", spec.path, spec.method]), status)
  );
}
