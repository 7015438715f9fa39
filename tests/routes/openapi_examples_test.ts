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
  const required = parametersOf(document, operation).filter((parameter) => parameter.required);
  const exampleIn = (place: string) =>
    required.flatMap((o: Parameter) => o.in === place ? [[o.name, String(o.example)] as const] : []);
  const filled = exampleIn("path").reduce(
    (filled, [name, example]) => filled.replace(`{${name}}`, encodeURIComponent(example)),
    path,
  );
  const query = new URLSearchParams(exampleIn("query").map(([name, example]) => [name, example]));
  const body = operation.requestBody?.content["application/json"]?.example;
  return await callerOf(operation.tags).send(method.toUpperCase(), `${filled}?${query}`, body);
}

/** Refusals of an example that follow from the caller or the service, not from the example. */
const DEPENDS =
  /the account has (no|neither a) password|its challenge is unknown|is not an active user of this tenant|the tenant has no |its state is unknown/;

/** Operations whose example does something. They are refused only for what is absent (404) or exists (409). */
const WORKS = /^(create|preview|put|generate|send|schedule|claim|publish|enqueue)/;

Deno.test("the examples of bodies and of their parameters pass validation, and creations create", async () => {
  const wrong: string[] = [];
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const { operationId: id, requestBody } = operation;
      if (!requestBody?.content["application/json"]) continue;
      const { status, body } = await send(method, path, operation);
      const text = JSON.stringify(body);
      const isInvalid = status === 400 && text.includes("VALIDATION_ERROR");
      const isRefused = status >= 400 && ![404, 409].includes(status) && WORKS.test(id);
      if ((isInvalid || isRefused) && !DEPENDS.test(text) || status >= 500) {
        wrong.push(`${id} ${status} ${text.slice(0, 300)}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
});
