// Checks the API document with independent validators. The answers of all operations are compared with it in `contract/`.
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import assert from "node:assert/strict";
import { EVENT_TYPES, PING } from "../../domain/events/event_types.ts";
import { CATALOGUE } from "../../domain/problems/problem.ts";
import { ENDPOINTS } from "../../routes/endpoints.ts";
import type { Endpoint } from "../../routes/shared/endpoint.ts";
import type { OpenApiDocument, Operation } from "../../routes/shared/openapi.ts";
import { setupShared } from "../support/setup.ts";
import { documentedCodes } from "../support/documented_codes.ts";

const t = await setupShared();
const document: OpenApiDocument = (await t.nobody.get("/openapi.json")).body;

const ajv = new Ajv2020({ strict: false, allErrors: true });
(addFormats as unknown as (ajv: Ajv2020) => void)(ajv); // its types match another module format only
ajv.addFormat("binary", true);
ajv.addSchema(document, "document");
const pointer = (...keys: string[]) =>
  keys.map((key) => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/");

// deno-lint-ignore no-explicit-any -- a part of a document of any shape
const partAt = (keys: string[], of = document): any => keys.reduce<any>((part, key) => part?.[key], of);

/** Validation errors of `value` against the schema at this place. */
function mistakes(keys: string[], value: unknown): string {
  const validate = ajv.getSchema(`document#/${pointer(...keys)}`);
  assert.ok(validate, `no schema at ${keys.join(" ")}`);
  return validate(value) ? "" : ajv.errorsText(validate.errors);
}

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
    requireResolved(body);
    for (const [kind, named] of Object.entries<object>(body.components)) {
      for (const [key, part] of Object.entries(named)) {
        assert.equal(JSON.stringify(part), JSON.stringify(partAt(["components", kind, key])));
        const isUsed = kind === "securitySchemes" || text.includes(`"#/components/${kind}/${key}"`);
        assert.ok(isUsed, `${name} does not use ${kind} ${key}`);
      }
    }
    for (const [path, operations] of Object.entries<Record<string, Operation>>(body.paths)) {
      for (const [method, operation] of Object.entries(operations)) {
        assert.equal(JSON.stringify(operation), JSON.stringify(partAt(["paths", path, method])));
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

const operations = () => Object.values(document.paths).flatMap((path) => Object.values(path));

function codesOf(spec: Endpoint): string[] {
  const statuses = new Set(Object.values(CATALOGUE).map(({ status }) => status));
  return [...statuses].flatMap((status) =>
    documentedCodes(document, partAt(["paths", spec.path, spec.method]), status)
  );
}
