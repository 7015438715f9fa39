import assert from "node:assert/strict";
import { filesIn, outcome, pattern, presign, sendRaw, startTestStore } from "./support.ts";
import { until } from "../../support/until.ts";

const test = await startTestStore({ corsOrigins: ["https://app.test"] });
Deno.test.afterAll(() => test.stop());

/** Asserts that the answer has these headers; null: absent. */
function hasHeaders(answer: Response, expected: Record<string, string | null>): void {
  const found = Object.keys(expected).map((name) => [name, answer.headers.get(name)]);
  assert.deepEqual(Object.fromEntries(found), expected);
}

const put = async (key: string, body: BodyInit, headers: HeadersInit = {}): Promise<string> =>
  await outcome(await test.aws.fetch(test.url(key), { method: "PUT", body, headers }));

const get = (key: string, headers: HeadersInit = {}): Promise<Response> =>
  test.aws.fetch(test.url(key), { headers });

Deno.test("ranges are answered with 206, or 416 if no byte is in the range", async () => {
  await put("r", "0123456789");
  const cases = [
    ["bytes=0-3", 206, "0123", "bytes 0-3/10"],
    ["bytes=4-", 206, "456789", "bytes 4-9/10"],
    ["bytes=-3", 206, "789", "bytes 7-9/10"],
    ["bytes=8-99", 206, "89", "bytes 8-9/10"],
    ["bytes=3-2", 200, "0123456789", null],
    ["bytes=0-1,3-4", 200, "0123456789", null],
  ] as const;
  for (const [range, status, body, contentRange] of cases) {
    const answer = await get("r", { range });
    assert.equal(answer.status, status, range);
    hasHeaders(answer, { "content-range": contentRange, "content-length": String(body.length) });
    assert.equal(await answer.text(), body);
  }
  for (const range of ["bytes=10-", "bytes=-0", "bytes=99-100"]) {
    const answer = await get("r", { range });
    hasHeaders(answer, { "content-range": "bytes */10" });
    assert.equal(await outcome(answer), "416 InvalidRange");
  }
});

/** Begins a PUT with this length and sends these bytes. */
async function beginPut(key: string, length: number, bytes: Uint8Array): Promise<Deno.Conn> {
  const { hostname, port, pathname, search, host } = new URL(await presign(test.url(key), { method: "PUT" }));
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const head = `PUT ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${length}\r\n\r\n`;
  await connection.write(new TextEncoder().encode(head));
  await connection.write(bytes);
  return connection;
}

Deno.test("a body shorter than its length stores nothing, a longer one only its first bytes", async () => {
  await put("short", "before");
  const files = (await filesIn(test.dir)).length;
  for (const key of ["short", "never"]) {
    const connection = await beginPut(key, 100_000, pattern(50_000));
    await until(async () => (await filesIn(test.dir)).length > files); // the store has begun to receive it
    connection.close();
    await until(async () => (await filesIn(test.dir)).length === files);
  }
  assert.equal(await (await get("short")).text(), "before");
  assert.equal(await test.store.head("never"), null);
  const connection = await beginPut("long", 3, new TextEncoder().encode("abcdef"));
  await until(async () => (await test.store.head("long")) !== null);
  connection.close();
  assert.equal(await (await get("long")).text(), "abc");
});

Deno.test("a running download completes although its object is deleted", async () => {
  const body = pattern(3 * 1024 * 1024);
  await put("d", body);
  const reader = (await get("d")).body!.getReader();
  let size = (await reader.read()).value?.length ?? 0;
  assert.equal((await test.aws.fetch(test.url("d"), { method: "DELETE" })).status, 204);
  assert.equal(await outcome(await get("d")), "404 NoSuchKey");
  for (let next = await reader.read(); !next.done; next = await reader.read()) size += next.value.length;
  assert.equal(size, body.length);
});

Deno.test("pages of an allowed origin may upload and read the answer, other origins may not", async () => {
  const preflight = async (origin: string, method = "PUT") =>
    await fetch(test.url("cors"), {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": method,
        "access-control-request-headers": "content-type,x-amz-meta-a",
      },
    });
  const allowed = await preflight("https://app.test");
  hasHeaders(allowed, {
    "access-control-allow-origin": "https://app.test",
    "access-control-allow-headers": "content-type,x-amz-meta-a",
  });
  assert.match(allowed.headers.get("access-control-allow-methods") ?? "", /\bPUT\b/);
  assert.equal(await outcome(allowed), "200");
  assert.equal(await outcome(await preflight("https://evil.test")), "403 AccessForbidden");
  assert.equal(await outcome(await preflight("https://app.test", "TRACE")), "403 AccessForbidden");
  assert.equal(await outcome(await fetch(test.url("cors"), { method: "OPTIONS" })), "400 BadRequest");

  const signed = await presign(test.url("cors"), { method: "PUT" });
  for (const [target, status] of [[signed, 200], [test.url("cors"), 403]] as const) {
    const answer = await fetch(target, { method: "PUT", body: "x", headers: { origin: "https://app.test" } });
    await answer.body?.cancel();
    assert.equal(answer.status, status);
    hasHeaders(answer, { "access-control-allow-origin": "https://app.test" });
    assert.match(answer.headers.get("access-control-expose-headers") ?? "", /ETag/);
    assert.match(answer.headers.get("vary") ?? "", /Origin/);
  }
  const foreign = await fetch(signed, { method: "PUT", body: "x", headers: { origin: "https://evil.test" } });
  await foreign.body?.cancel();
  hasHeaders(foreign, { "access-control-allow-origin": null });
});

Deno.test("a body without a length is rejected", async () => {
  const signed = await presign(test.url("l"), { method: "PUT" });
  const chunked = await sendRaw(signed, {
    method: "PUT",
    headers: { "transfer-encoding": "chunked" },
    body: "abc",
  });
  assert.equal(await outcome(chunked), "411 MissingContentLength");
});

Deno.test("a condition or a checksum that is not implemented is refused; a cache gets the whole object", async () => {
  await put("c", "0123456789");
  for (const name of ["if-match", "if-none-match", "if-modified-since", "content-md5"]) {
    assert.equal(await put("c", "x", { [name]: "*" }), "501 NotImplemented", name);
  }
  assert.equal(await outcome(await get("c", { "if-match": "*" })), "501 NotImplemented");
  const cached: Record<string, string>[] = [{ "if-none-match": "*" }, {
    "if-range": "x",
    range: "bytes=0-0",
  }];
  for (const headers of cached) {
    assert.equal(await (await get("c", headers)).text(), "0123456789");
  }
});
