// Requests of the contract table. The application is called without a server, which takes a third of the time.
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import assert from "node:assert/strict";
import { createApp } from "../../../routes/app.ts";
import { ENDPOINTS } from "../../../routes/endpoints.ts";
import { AREAS_WITH_ERROR_LISTS, type Endpoint } from "../../../routes/shared/endpoint.ts";
import type { OpenApiDocument, Operation } from "../../../routes/shared/openapi.ts";
import { openApiDocument } from "../../../routes/shared/openapi.ts";
import { documentedCodes } from "../../support/documented_codes.ts";
import type { HttpAnswer } from "../../support/http.ts";
import { type Ask, pathOf } from "../../support/isolation.ts";
import type { Actor, TestService } from "../../support/setup.ts";

/** A caller of a request; null: without a token. */
export type By = { token: string | null } | null;

/** Sends requests to the endpoints of a service and compares every answer with the API document. */
export class Calls {
  readonly endpoints: readonly Endpoint[];
  readonly document: OpenApiDocument;
  readonly #handle: ReturnType<typeof createApp>;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true, code: { optimize: false } });
  /** Differences between answers and the document since the last look. */
  #unfit: string[] = [];

  constructor({ steward: { platform } }: Pick<TestService, "steward">) {
    this.endpoints = ENDPOINTS.filter(({ path }) => platform.outbox || !path.startsWith("/dev/"));
    this.document = openApiDocument(this.endpoints, { baseUrl: platform.baseUrl(), version: "1" });
    this.#handle = createApp({ platform, endpoints: this.endpoints }); // the document checks what `checkAnswers` would
    (addFormats as unknown as (ajv: Ajv2020) => void)(this.#ajv); // its types match another module format only
    this.#ajv.addFormat("binary", true);
    this.#ajv.addSchema(this.document, "document");
  }

  /** Answers that were not as documented since the last call. */
  takeUnfit(): string[] {
    return this.#unfit.splice(0);
  }

  /** The requests of this caller, too, skip the server. */
  attach(actor: Actor): Actor {
    actor.send = (method, path, body, headers = {}) => this.#request(method, path, actor, body, headers);
    return actor;
  }

  /** @param o.search the query, instead of that of `ask` */
  async send(
    by: By,
    spec: Endpoint,
    ask: Ask = {},
    o: { headers?: Record<string, string>; search?: string; path?: string } = {},
  ): Promise<HttpAnswer> {
    const path = pathOf(o.path ?? spec.path, o.search === undefined ? ask : { ...ask, query: {} });
    const at = o.search ? `${path}?${o.search}` : path;
    const answer = await this.#request(spec.method.toUpperCase(), at, by, ask.body, o.headers ?? {});
    const unfit = this.#differences(spec, answer);
    if (unfit) {
      const told = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body);
      this.#unfit.push(`${spec.id} answered ${answer.status} ${told.slice(0, 400)}: ${unfit}`);
    }
    return answer;
  }

  async #request(
    method: string,
    path: string,
    by: By,
    body: unknown,
    headers: Record<string, string>,
  ): Promise<HttpAnswer> {
    const isImage = body instanceof Uint8Array;
    const isRaw = isImage || body instanceof FormData;
    const type = isImage ? "image/png" : body === undefined || isRaw ? null : "application/json";
    const response = await this.#handle(
      new Request(`http://steward.test${path}`, {
        method,
        headers: {
          ...by?.token ? { authorization: `Bearer ${by.token}` } : {},
          ...type ? { "content-type": type } : {},
          ...headers,
        },
        ...body === undefined ? {} : { body: isRaw ? body as BodyInit : JSON.stringify(body) },
      }),
      "127.0.0.1",
    );
    const isStream = typeOf(response) === "text/event-stream";
    if (isStream) await response.body?.cancel();
    const text = isStream ? "" : await response.text();
    const isJson = typeOf(response).includes("json") && text !== "";
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }

  /** Returns what of the answer is not in the document; "" if nothing. */
  #differences({ path, method }: Endpoint, answer: HttpAnswer): string {
    const { status, headers, body } = answer;
    const type = typeOf(answer);
    const operation = this.document.paths[path]?.[method];
    if (!operation) return "no such operation";
    if (status === 500) return "failed unexpectedly";
    const isDocumented = operation.responses[status] !== undefined;
    if (!isDocumented && status < 400) return "an undocumented status";
    if (type === "application/problem+json" && body.code !== undefined) {
      if (!documentedCodes(this.document, operation, status).includes(body.code)) {
        return "an undocumented code";
      }
    }
    const { content = {}, headers: named = {}, at } = this.#responseOf(operation, path, method, status);
    const types = Object.keys(content).map((type) => type.split(";")[0] ?? "");
    if (type !== "" && !types.includes(type)) return `expected ${types.join(" or ") || "no content"}`;
    const names = Object.keys(named).map((name) => name.toLowerCase());
    for (const name of ["etag", "location"]) {
      if (headers.has(name) !== names.includes(name)) return `${name} is not as documented`;
    }
    if (!/^00-[0-9a-f]{32}-/.test(headers.get("traceresponse") ?? "")) return "no traceresponse";
    if (!type.includes("json") || !content[type]) return "";
    const validate = this.#ajv.getSchema(
      `document#/${[...at, "content", type, "schema"].map(pointer).join("/")}`,
    );
    assert.ok(validate, `no schema of ${method} ${path} ${status}`);
    return validate(body) ? "" : this.#ajv.errorsText(validate.errors);
  }

  #responseOf(operation: Operation, path: string, method: string, status: number) {
    const key = operation.responses[status] ? String(status) : "default";
    const response = operation.responses[key];
    if (!response || !("$ref" in response)) {
      return { ...response, at: ["paths", path, method, "responses", key] };
    }
    const at = response.$ref.slice(2).split("/");
    return { ...this.document.components.responses[at.at(-1) ?? ""], at };
  }
}

const typeOf = ({ headers }: Pick<Response, "headers">) => headers.get("content-type")?.split(";")[0] ?? "";

const pointer = (key: string) => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"));

/** The status and code of an answer. */
export const codeOf = ({ status, body }: HttpAnswer): string => `${status} ${body?.code ?? ""}`.trim();

/** The members that a refusal names, in the form of the endpoint's area. Null: `errors` has another form. */
export function namedMembers({ area }: Pick<Endpoint, "area">, { body }: HttpAnswer): string[] | null {
  const errors: unknown = body?.errors;
  const texts = (value: unknown): value is string[] =>
    Array.isArray(value) && value.length > 0 &&
    value.every((text) => typeof text === "string" && text !== "");
  if (AREAS_WITH_ERROR_LISTS.has(area)) {
    if (!texts(errors) || !errors.every((text) => text.includes(": "))) return null;
    return errors.map((text) => text.slice(0, text.indexOf(": ")));
  }
  if (typeof errors !== "object" || errors === null || Array.isArray(errors)) return null;
  return Object.values(errors).every(texts) ? Object.keys(errors) : null;
}

/** Requests in work at a time. */
const AT_ONCE = 4;

/** Calls `work` for all values, a few at a time. @returns what it returned, without empty values */
export async function forAll<V, R>(
  values: readonly V[],
  work: (value: V, nth: number) => Promise<readonly R[]>,
): Promise<R[]> {
  const found: R[][] = [];
  let next = 0;
  const workers = Array.from({ length: AT_ONCE }, async () => {
    while (next < values.length) {
      const index = next++;
      found[index] = [...await work(values[index] as V, index)];
    }
  });
  await Promise.all(workers);
  return found.flat();
}
