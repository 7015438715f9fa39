// Sends the examples of the API document as they stand.
import assert from "node:assert/strict";
import type { OpenApiDocument, Operation } from "../../routes/shared/openapi.ts";
import { type Parameter, parametersOf } from "../../routes/shared/openapi_sharing.ts";
import { setupShared } from "../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const document: OpenApiDocument = (await t.nobody.get("/openapi.json")).body;

/** Has every permission. */
const caller = await t.actor({ role: "Admin" });
/** Files are not for system administrators; what concerns all tenants is not for administrators of one. */
const callerOf = (tags: string[]) => tags.includes("Files") ? caller : t.systemAdmin;

/** Sends the operation with the examples of its path, its required query parameters and its body. */
async function send(method: string, path: string, operation: Operation) {
  const parameters = parametersOf(document, operation);
  const exampleIn = (place: string) =>
    parameters.filter((parameter) => parameter.in === place && parameter.required);
  const filled = exampleIn("path").reduce(
    (filled, { name, example }) => filled.replace(`{${name}}`, encodeURIComponent(String(example))),
    path,
  );
  const query = exampleIn("query").map(({ name, example }: Parameter) => [name, String(example)]);
  const body = operation.requestBody?.content["application/json"]?.example;
  const response = await fetch(`${t.url}${filled}?${new URLSearchParams(query)}`, {
    method: method.toUpperCase(),
    redirect: "manual",
    headers: {
      authorization: `Bearer ${callerOf(operation.tags).token}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const type = response.headers.get("content-type") ?? "";
  const isStream = type.startsWith("text/event-stream");
  const text = isStream ? "" : await response.text();
  if (isStream) await response.body?.cancel();
  return { status: response.status, text };
}

const each = Object.entries(document.paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, operation]) => ({ path, method, operation }))
);

/** Refusals of an example that follow from the caller or the service, not from the example. */
const DEPENDS =
  /the account has (no|neither a) password|its challenge is unknown|is not an active user of this tenant|the tenant has no |its state is unknown/;

/** Operations whose example does something. They are refused only for what is absent (404) or exists (409). */
const WORKS = /^(create|preview|put|generate|send|schedule|claim|publish|enqueue)/;

Deno.test("the examples of bodies and parameters pass validation; GETs are answered as documented, and creations create", async () => {
  const wrong: string[] = [];
  for (const { path, method, operation } of each) {
    const { operationId: id, requestBody, responses } = operation;
    const hasBody = requestBody?.content["application/json"] !== undefined;
    if (!hasBody && method !== "get" || id === "authorizeClient") continue; // that one refuses the example of a client with a page
    const { status, text } = await send(method, path, operation);
    const isInvalid = status === 400 && (!hasBody || text.includes("VALIDATION_ERROR")) &&
      !DEPENDS.test(text);
    const isRefused = status >= 400 && ![404, 409].includes(status) && WORKS.test(id) && !DEPENDS.test(text);
    const isUndocumented = method === "get" && responses[status] === undefined;
    if (isInvalid || isRefused || isUndocumented || status >= 500) {
      wrong.push(`${id} ${status} ${text.slice(0, 300)}`);
    }
  }
  assert.deepEqual(wrong, []);
});
