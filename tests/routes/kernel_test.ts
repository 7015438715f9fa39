import assert from "node:assert/strict";
import { contains, has } from "../support/answers.ts";
import { inOneInstance } from "../support/in_one_instance.ts";
import { accepted, refused } from "../support/outcomes.ts";
import { setupShared } from "../support/setup.ts";
import { until } from "../support/until.ts";
import { connectTo, sendRaw } from "./shared/raw_http.ts";

const t = await setupShared();

Deno.test("a trailing slash is the same route, and browsers are redirected to the path of a page", async () => {
  const { status, body } = await t.systemAdmin.get("/api/v1/users/?pageSize=1");
  assert.deepEqual([status, body.pageSize], [200, 1]);
  assert.equal((await t.systemAdmin.get(`/api/v1/users/${t.systemAdmin.userId}/`)).status, 200);
  assert.equal((await t.nobody.post("/auth/login/", {})).body.code, "VALIDATION_ERROR");
  const wrong = await t.nobody.delete("/auth/login/");
  assert.deepEqual([wrong.body.code, wrong.headers.get("allow")], ["METHOD_NOT_ALLOWED", "POST"]);
  const named = await t.nobody.delete("/api/v1/reports/schedules/"); // no execution has this id
  assert.deepEqual([named.body.code, named.headers.get("allow")], ["METHOD_NOT_ALLOWED", "GET, HEAD, POST"]);
  assert.equal((await t.nobody.get("/api/v1/nothing/")).body.code, "ROUTE_NOT_FOUND");
  const headers = { accept: "text/html" };
  const page = await fetch(`${t.url}/docs/?a=b`, { headers, redirect: "manual" });
  await page.body?.cancel();
  assert.deepEqual([page.status, page.headers.get("location")], [308, "../docs?a=b"]);
});

Deno.test("the type of a problem is a page that explains it, as JSON or HTML", async () => {
  const { body, headers } = await t.nobody.get("/api/v1/nothing");
  has(body, { code: "ROUTE_NOT_FOUND", instance: "/api/v1/nothing" });
  assert.equal(headers.get("content-type"), "application/problem+json");
  const page = await t.nobody.get(new URL(body.type).pathname);
  assert.equal(page.status, 200);
  assert.equal(page.body.status, 404);
  assert.ok(page.body.mend.length > 0);
  const html = await t.nobody.get("/problems/ROUTE_NOT_FOUND", { accept: "text/html" });
  assert.match(html.body, /<h1>Route not found<\/h1>/);
  assert.equal((await t.nobody.get("/problems/NO_SUCH_CODE")).body.code, "ROUTE_NOT_FOUND");
  assert.equal((await t.nobody.get("/problems/toString")).body.code, "ROUTE_NOT_FOUND");
});

Deno.test("a valid traceparent is kept, an invalid one is replaced", async () => {
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const carried = await t.nobody.get("/api/v1/nothing", { traceparent: `00-${traceId}-00f067aa0ba902b7-01` });
  assert.equal(carried.body.traceId, traceId);
  assert.match(carried.headers.get("traceresponse") ?? "", new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
  const replaced = await t.nobody.get("/api/v1/nothing", {
    traceparent: "00-00000000000000000000000000000000-1-01",
  });
  assert.match(replaced.body.traceId, /^[0-9a-f]{32}$/);
});

Deno.test("malformed JSON and a missing body are mistakes of the request", async () => {
  const malformed = await t.nobody.post("/auth/login", "{");
  assert.equal(malformed.status, 400);
  assert.equal(malformed.body.code, "VALIDATION_ERROR");
  for (const path of ["/auth/login", "/api/v1/permissions/import/file", "/oauth/token"]) {
    assert.equal((await t.systemAdmin.post(path)).status, 400, path);
  }
});

const AT_PROXY = "who breaks off does so with the proxy";
inOneInstance("an incomplete body is reported as the client's error", AT_PROXY, async () => {
  const connection = await connectTo(t);
  const head = [
    "POST /auth/login HTTP/1.1",
    "host: x",
    "content-type: application/json",
    "content-length: 99",
  ];
  const send = (text: string) => connection.write(new TextEncoder().encode(text));
  await send(`${head.join("\r\n")}\r\nexpect: 100-continue\r\n\r\n`);
  const served = () =>
    t.logs.filter((line) => line.includes('"route":"/api/v1/auth/login","status":400')).length;
  const before = served();
  const seen = t.logs.length;
  const answer = new Uint8Array(100);
  await connection.read(answer);
  assert.match(new TextDecoder().decode(answer), / 100 Continue/, "the service reads the body");
  await send("{");
  connection.close();
  await until(() => served() > before);
  assert.equal(t.logs.slice(seen).some((line) => line.includes("a request failed unexpectedly")), false);
});

Deno.test("the API does not read the Host header; pages of the console refuse one that is not a host", async () => {
  const request = (line: string, host: string) =>
    sendRaw(t, `${line} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
  for (const host of ["[::1", "%", "a b", "a<b"]) {
    assert.match(await request("GET /console/sign-in", host), /^HTTP\/1.1 400 /, host);
    assert.match(await request("GET /problems/ROUTE_NOT_FOUND?a=%25", host), /^HTTP\/1.1 200 /, host);
    const answer = await request("GET /api/v1/users?page=%25", host);
    assert.match(answer, /^HTTP\/1.1 401 /, host);
    assert.match(answer, /"instance":"\/api\/v1\/users"/, host);
  }
});

Deno.test("a document that is too deep or not UTF-8 is rejected without a failure", async () => {
  const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  for (const filler of [deep(300), deep(200_000), `{"a":${deep(200_000)},"b":"\\u0041"}`]) {
    const { status, body } = await t.nobody.post("/auth/login", `{"email":"a","password":"b","x":${filler}}`);
    assert.equal(status, 400);
    assert.match(body.errors[0], /^body: .*levels deep$/);
  }
  const latin1 = Uint8Array.from(`{"email":"ren\u00e9","password":"x"}`, (char) => char.charCodeAt(0));
  const answer = await fetch(`${t.url}/auth/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: latin1,
  });
  assert.equal(answer.status, 400);
  assert.match((await answer.json()).errors[0], /^body: expected a JSON document in UTF-8/);
});

Deno.test("text that the database cannot store is rejected by field", async () => {
  const search = await t.systemAdmin.get("/api/v1/users?search=%00");
  assert.deepEqual(search.body.errors, ["search: must not contain the NUL character"]);
  for (const email of ["a\u0000b", "\ud800"]) {
    const { status, body } = await t.nobody.post("/auth/login", { email, password: "x" });
    assert.equal(status, 400, JSON.stringify(body));
    assert.ok(body.errors[0].startsWith("email: "));
  }
});

Deno.test("the process is healthy and ready, and every check is named", async () => {
  assert.deepEqual((await t.nobody.get("/healthz")).body, { status: "ok" });
  const { status, body } = await t.nobody.get("/readyz");
  assert.equal(status, 200);
  const checks = ["postgres", "objectStore", "postgresDisk", "jobs", "scanner", "mail"];
  assert.deepEqual(Object.keys(body.checks), checks);
  assert.match(body.notices.join(), /embedded scanner .* is for trials.* Use clamd in production/);
  assert.ok(t.logs.some((line) => line.includes(body.notices[0])), "said at start too");
});

Deno.test("the API reference is one small page that loads nothing from other origins; an operation is loaded when it is opened", async () => {
  const page = await t.nobody.get("/docs");
  assert.ok(page.body.length < 250_000, `${page.body.length} characters`);
  const gzip = new Blob([page.body]).stream().pipeThrough(new CompressionStream("gzip"));
  const { byteLength } = await new Response(gzip).arrayBuffer();
  assert.ok(byteLength < 40_000, `${byteLength} bytes compressed`);
  assert.match(page.body, /href="openapi\.json\?area=Admin%20users"/);
  assert.doesNotMatch(page.body, /https?:\/\//);
  assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'/);
  for (const asset of ["docs.css", "docs.js"]) await accepted(t.nobody.get(`/docs/${asset}`), 200);
  const operation = await accepted(t.nobody.get("/docs/operations/readUser"), 200);
  assert.match(operation, /USER_NOT_FOUND/);
  assert.doesNotMatch(operation, /https?:\/\/(?!example|127|shop)/);
  await refused("404 ROUTE_NOT_FOUND", t.nobody.get("/docs/operations/nothing"));
  assert.equal((await t.nobody.get("/docs/..%2f..%2fdeno.json")).status, 404);
});

Deno.test("names of an object's prototype in bodies and queries are data, and change no other object", async () => {
  const actor = await t.actor({ role: "Admin" });
  const create = await fetch(`${t.url}/api/v1/roles?__proto__=a&__proto__=b&constructor=c&polluted=1`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${actor.token}` },
    body: '{"name":"Clerk","permissionIds":[],"__proto__":{"polluted":1,"isSystemRole":true},' +
      '"constructor":{"prototype":{"polluted":1}}}',
  });
  assert.equal(create.status, 201);
  const role = await create.json();
  assert.equal(role.isSystemRole, false);
  assert.equal("polluted" in {}, false);
  const setting = { key: "x", value: '{"__proto__":{"polluted":1}}', description: null };
  await t.systemAdmin.post("/api/v1/settings", setting);
  assert.equal("polluted" in {}, false);
});

Deno.test("a query parameter that is sent twice is refused, and one in a body or header is not a query parameter", async () => {
  const twice = "given 2 times; expected one value";
  const one = await t.systemAdmin.get("/api/v1/users?page=1&page=2");
  assert.deepEqual([one.status, one.body.code], [400, "VALIDATION_ERROR"]);
  assert.equal(one.body.detail, `The request is invalid: page: ${twice}`);
  const several = await t.systemAdmin.get(
    "/api/v1/users?sortDirection=Ascending&sortDirection=Ascending&includeDeleted=true&includeDeleted=no&pageSize=x",
  );
  assert.deepEqual(several.body.errors, [
    "pageSize: expected an integer",
    `sortDirection: ${twice}`,
    `includeDeleted: ${twice}`,
  ]);
  const empty = await t.systemAdmin.get("/api/v1/notifications?fromDate=2026-01-01&fromDate=&fromDate=x");
  assert.deepEqual(empty.body.errors, { fromDate: [twice] }, "empty values do not count");
  const body = { name: "Clerk", permissionIds: [], page: 3, tenantId: crypto.randomUUID() };
  const { status, headers } = await t.systemAdmin.post("/api/v1/roles?name=Other", body, { name: "Third" });
  assert.deepEqual([status, headers.get("steward-ignored-members")], [201, "page, tenantId"]);
});

Deno.test("an unknown query parameter near a known one is refused, and others are ignored and named", async () => {
  const get = async (path: string) => await t.systemAdmin.get(path);
  const wrong = [
    ["/api/v1/users?pagesize=5", "pagesize", "pageSize"],
    ["/api/v1/reports/history?statuss=4", "statuss", "status"],
    ["/api/v1/jobs?search-term=a&searchTerm=b", "search-term", "searchTerm"],
  ];
  for (const [path = "", given, known] of wrong) {
    const { status, body } = await get(path);
    assert.deepEqual([status, body.code], [400, "VALIDATION_ERROR"], path);
    contains(JSON.stringify(body.errors), `unknown member \`${given}\`; did you mean \`${known}\`?`);
  }
  const ignored = await get("/api/v1/reports/history?colour=red&page=2&pageSize=1");
  assert.deepEqual([ignored.status, ignored.headers.get("steward-ignored-members")], [200, "colour, page"]);
  const context = await get(`/api/v1/reports/history?tenantId=${t.platformTenantId}`);
  assert.deepEqual([context.status, context.headers.get("steward-ignored-members")], [200, null]);
});

Deno.test("folders are not listed, and files of the service are not served", async () => {
  const paths = ["/docs/", "/console/assets", "/console/assets/", "/.git/config", "/deno.json", "/main.ts"];
  for (const path of paths) {
    const { status, body } = await t.nobody.get(path);
    assert.ok([303, 404].includes(status) || String(body).includes("sign-in"), `${path}: ${status}`);
    const text = JSON.stringify(body);
    assert.doesNotMatch(text, /console\.js"|repositoryformat|nodeModulesDir|startSteward/, path);
  }
});
