import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { askTokens, makeClient, postForm } from "./flow.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());

/** Sends a request and expects a refusal in the format of OAuth. */
async function refusal(method: string, path: string, init: RequestInit = {}) {
  const response = await fetch(t.url + path, { method, ...init });
  assert.match(response.headers.get("content-type") ?? "", /^application\/json/, `${method} ${path}`);
  const body = await response.json();
  assert.deepEqual(Object.keys(body), ["error", "error_description"]);
  assert.match(body.error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  return { status: response.status, error: body.error, allow: response.headers.get("allow") };
}

Deno.test("a wrong method of a route of the protocol is refused in the format of OAuth", async () => {
  for (
    const [method, path, allow] of [
      ["GET", "/oauth/token", "POST"],
      ["PUT", "/oauth/introspect", "POST"],
      ["DELETE", "/oauth/revoke", "POST"],
      ["PUT", "/oauth/authorize", "GET, HEAD, POST"],
    ] as const
  ) {
    assert.deepEqual(await refusal(method, path), { status: 405, error: "invalid_request", allow });
  }
  assert.equal((await refusal("GET", "/oauth/nothing")).status, 404);
  const { headers } = await t.nobody.get("/api/v1/nothing");
  assert.equal(headers.get("content-type"), "application/problem+json");
});

Deno.test("a body that is no form is refused in the format of OAuth, also where pages answer", async () => {
  const json = { body: "{}", headers: { "content-type": "application/json" } };
  for (const name of ["token", "introspect", "revoke", "authorize", "logout"]) {
    const answer = await refusal("POST", `/oauth/${name}`, json);
    assert.deepEqual([answer.status, answer.error], [415, "invalid_request"], name);
  }
  const large = { body: new URLSearchParams({ state: "x".repeat(2 << 20) }) };
  for (const name of ["token", "authorize"]) {
    assert.equal((await refusal("POST", `/oauth/${name}`, large)).status, 413, name);
  }
  assert.equal((await refusal("GET", "/oauth/authorize?client_id=%00")).status, 400);
});

Deno.test("answers of the token endpoint are never kept, also by old caches", async () => {
  const client = await makeClient(t.systemAdmin);
  const answers = [
    await askTokens(t, client, { grant_type: "client_credentials" }),
    await postForm(t, "/oauth/token", {}),
  ];
  assert.deepEqual(answers.map(({ status }) => status), [200, 401]);
  for (const { headers } of answers) {
    assert.deepEqual([headers.get("cache-control"), headers.get("pragma")], ["no-store", "no-cache"]);
  }
});
