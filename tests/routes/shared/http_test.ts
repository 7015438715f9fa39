import assert from "node:assert/strict";
import { refused } from "../../support/answers.ts";
import { inOneInstance } from "../../support/in_one_instance.ts";
import { setup } from "../../support/setup.ts";
import { connectTo, sendRaw } from "./raw_http.ts";

const t = await setup({ BODY_TIMEOUT_SECONDS: "1", PUBLIC_URL: "https://example.test/back-office/" });

const raw = (text: string, until?: RegExp) => sendRaw(t, text, until);

Deno.test("every answer has the security headers for browsers", async () => {
  const answers = [
    await t.nobody.get("/healthz"),
    await t.nobody.get("/api/v1/nothing"),
    await t.nobody.get("/api/v1/users"),
    await t.systemAdmin.get("/api/v1/users"),
    await t.nobody.get("/problems/ROUTE_NOT_FOUND", { accept: "text/html" }),
    await t.nobody.get("/docs"),
    await t.nobody.get("/docs/docs.js"),
    await t.nobody.get("/auth/reset-password"),
    await t.nobody.get("/dev/outbox", { accept: "text/html" }),
  ];
  for (const { headers } of answers) {
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.equal(headers.get("strict-transport-security"), "max-age=31536000; includeSubDomains");
    const policy = headers.get("content-security-policy") ?? "";
    if (headers.get("content-type") !== "application/json") {
      assert.match(policy, /default-src 'none'/);
      assert.match(policy, /frame-ancestors 'none'/);
    }
    const isPage = headers.get("content-type")?.startsWith("text/html");
    assert.equal(headers.get("cross-origin-opener-policy"), isPage ? "same-origin" : null);
    assert.equal(headers.get("cross-origin-resource-policy"), isPage ? "same-origin" : null);
    assert.equal(headers.get("referrer-policy"), isPage ? "no-referrer" : null);
    assert.equal(headers.get("access-control-allow-origin"), null);
  }
  assert.equal(answers.filter(({ headers }) => headers.has("cross-origin-opener-policy")).length, 4);
});

Deno.test("below a path of a shared host, cookies are sent only to the service's own paths", async () => {
  const { body } = await t.nobody.get("/console/sign-in");
  const cookie = /data-zone-cookie="__Secure-steward_tz=\{zone\}; Path=\/back-office\/console; [^"]*Secure"/;
  assert.match(body, cookie);
});

Deno.test("HEAD answers like GET, without the body", async () => {
  const pages = ["/console/sign-in", "/console/assets/nothing", "/docs", "/problems/ROUTE_NOT_FOUND"];
  for (const path of ["/healthz", "/api/v1/users", ...pages]) {
    const get = await t.systemAdmin.get(path);
    const head = await t.systemAdmin.send("HEAD", path);
    assert.equal(head.status, get.status, path);
    assert.equal(head.body, "");
    // fetch removes the length of a compressed answer, because it decodes the answer
    const lengths = head.headers.has("content-encoding") ? [] : ["content-length"];
    for (const name of ["content-type", ...lengths, "cache-control", "etag"]) {
      assert.equal(head.headers.get(name), get.headers.get(name), `${path} ${name}`);
    }
  }
  const plain = { "accept-encoding": "identity" };
  const head = await t.nobody.send("HEAD", "/console/sign-in", undefined, plain);
  assert.notEqual(head.headers.get("content-length"), "0", "the length is not that of the missing body");
  assert.equal((await t.nobody.send("HEAD", "/api/v1/nothing")).status, 404);
  const wrong = await t.nobody.send("HEAD", "/auth/login");
  assert.deepEqual([wrong.status, wrong.headers.get("allow")], [405, "POST"]);
  const events = `/api/v1/user-notifications/stream?userId=${t.systemAdmin.userId}`;
  const stream = await t.systemAdmin.send("HEAD", events);
  assert.deepEqual([stream.status, stream.headers.get("content-type")], [200, "text/event-stream"]);
});

Deno.test("another method is rejected with the allowed ones", async () => {
  const { status, headers } = await t.nobody.send("PATCH", "/api/v1/users");
  assert.deepEqual([status, headers.get("allow")], [405, "GET, HEAD, POST"]);
  const options = await t.nobody.send("OPTIONS", "/api/v1/users", undefined, {
    origin: "https://app.example.test",
    "access-control-request-method": "POST",
  });
  assert.equal(options.status, 405, "no origin may call unless it is configured");
  for (const path of ["/api/v1/users", "/console/sign-in", "/healthz"]) {
    const traced = await raw(`TRACE ${path} HTTP/1.1\r\nhost: x\r\nx: secret\r\nconnection: close\r\n\r\n`);
    assert.match(traced, /^HTTP\/1.1 (40[045]|303|501) /, path);
    assert.doesNotMatch(traced, /x: secret/);
  }
});

const IS_URL = "the proxy of the tests makes a URL of every path";
inOneInstance(
  "a path is matched as written, without URL normalization",
  IS_URL,
  async () => {
    for (const path of ["/docs/../api/v1/users", "/docs/%2e%2e/api/v1/users", "/api\\v1\\users"]) {
      const answer = await raw(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
      assert.match(answer, /^HTTP\/1.1 404 /, path);
      assert.match(answer, /"code":"ROUTE_NOT_FOUND"/, path);
    }
  },
);

Deno.test("behind a proxy with a path the API reference finds its resources", async () => {
  const { body } = await t.nobody.get("/docs");
  const named = [...body.matchAll(/<(?:link|script)[^>]* (?:href|src)="([^"]+)"/g)].map(([, path]) =>
    new URL(path ?? "", "https://example.test/back-office/docs").pathname
  );
  assert.equal(named.length, 4);
  for (const path of named) assert.match(path, /^\/back-office\/(docs|console\/assets)\//);
});

Deno.test("behind a proxy with a path a Location begins with that path", async () => {
  const role = { name: "Clerk", description: null, permissionIds: [] };
  const key = { "idempotency-key": "k" };
  const { headers, body } = await t.systemAdmin.post("/api/v1/roles", role, key);
  assert.equal(headers.get("location"), `/back-office/api/v1/roles/${body.id}`);
  const again = await t.systemAdmin.post("/api/v1/roles", role, key);
  assert.equal(again.headers.get("location"), headers.get("location"));
});

Deno.test("a body of another type, charset or encoding is rejected", async () => {
  const login = (headers: Record<string, string>) =>
    t.nobody.post("/auth/login", { email: "a@example.test", password: "x" }, headers);
  const types = [
    ...["application/json; charset=utf-8", 'application/json;charset="UTF-8"', "APPLICATION/JSON"],
    "application/merge+json; profile=x; charset=utf8",
  ];
  for (const contentType of types) {
    assert.equal((await login({ "content-type": contentType })).status, 401, contentType);
  }
  for (const contentType of ["application/json; charset=utf-16", "application/json;a=b;charset=iso-8859-1"]) {
    refused(await login({ "content-type": contentType }), 415, "UNSUPPORTED_MEDIA_TYPE", /charset/);
  }
  refused(await login({ "content-type": "text/plain" }), 415, "UNSUPPORTED_MEDIA_TYPE");
  const coded = await login({ "content-encoding": "gzip" });
  assert.equal(coded.status, 415);
  assert.equal(coded.headers.get("accept-encoding"), "identity");
});

Deno.test("a body that does not arrive in time is answered 408", async () => {
  const head = "POST /auth/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
  const starts = ["content-length: 99\r\n\r\n{", "transfer-encoding: chunked\r\n\r\n"];
  for (const start of starts) {
    const answer = await raw(head + start, /\}$/);
    assert.match(answer, /^HTTP\/1.1 408 /);
    assert.match(answer, /"code":"BODY_TIMED_OUT"/);
    assert.match(answer, /connection: close/i);
  }
  assert.equal(t.logs.some((line) => line.includes("a request failed unexpectedly")), false);
});

const NO_LENGTH = "the proxy of the tests hands a body that is slow to come on without its length";
inOneInstance(
  "a body whose Content-Length is too large is rejected before it is sent",
  NO_LENGTH,
  async () => {
    const head = "POST /auth/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    const answer = await raw(`${head}content-length: 2000000\r\n\r\n`, /\}$/);
    assert.match(answer, /^HTTP\/1.1 413 /);
    assert.match(answer, /"code":"BODY_TOO_LARGE"/);
    const chunk = `186a0\r\n${"x".repeat(100_000)}\r\n`;
    const chunked = await raw(`${head}transfer-encoding: chunked\r\n\r\n${chunk.repeat(11)}`, /\}$/);
    assert.match(chunked, /^HTTP\/1.1 413 /);
  },
);

Deno.test("repeated headers are rejected", async () => {
  const twice = (name: string, value: string) => `${name}: ${value}\r\n${name}: ${value}x\r\n`;
  const get = (headers: string) =>
    raw(`GET /api/v1/auth/me HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${headers}\r\n`);
  assert.match(await get(twice("authorization", `Bearer ${t.systemAdmin.token}`)), /TOKEN_INVALID/);
  const token = `authorization: Bearer ${t.systemAdmin.token}\r\n`;
  assert.match(await get(token), /^HTTP\/1.1 200 /);
  const post = (headers: string) =>
    raw(`POST /auth/login HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${headers}\r\n{}`);
  assert.match(await post("content-length: 2\r\ncontent-length: 3\r\n"), /^HTTP\/1.1 400 /);
  assert.match(await post("content-length: 2\r\ntransfer-encoding: chunked\r\n"), /^HTTP\/1.1 400 /);
  const keys = twice("idempotency-key", "k");
  const key = await raw(`POST /api/v1/roles HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${token}${keys}\r\n`);
  assert.match(key, /Idempotency-Key: expected 1 to 255/);
});

Deno.test("at the end, a stalled peer neither prevents the service from stopping nor changes the order of stopping", async () => {
  const peer = await connectTo(t);
  const head = "POST /auth/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
  await peer.write(new TextEncoder().encode(`${head}content-length: 100\r\n\r\n{`));
  while ((await fetch(`${t.url}/healthz`)).status !== 200);
  await t.stop();
  await assert.rejects(fetch(`${t.url}/healthz`));
  peer.close();
});
