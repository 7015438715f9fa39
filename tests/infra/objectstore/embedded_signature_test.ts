import { AwsV4Signer } from "aws4fetch";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { awsCredentials, outcome, presign, sendRaw, startTestStore, type TestStore } from "./support.ts";

let test: TestStore;
let url: string;
Deno.test.beforeAll(async () => {
  test = await startTestStore();
  await test.lite.putObject("folder/object", "content");
  url = test.url("folder/object");
});
Deno.test.afterAll(() => test.stop());

const FAKE = "0".repeat(64);
const SHORT = { sanitizeOps: false, sanitizeResources: false };

async function get(target: string, init?: RequestInit): Promise<string> {
  return await outcome(await fetch(target, init));
}

Deno.test("every unsigned request is refused", async () => {
  for (const method of ["GET", "HEAD", "PUT", "DELETE", "POST"]) {
    const answer = await fetch(url, { method, body: method === "PUT" ? "x" : undefined });
    assert.equal(await outcome(answer), method === "HEAD" ? "403" : "403 AccessDenied");
  }
  assert.equal(await get(test.server.endpoint), "403 AccessDenied");
  assert.equal(
    await get(url, { headers: { authorization: "AWS key:signature" } }),
    "403 AuthorizationHeaderMalformed",
  );
});

Deno.test("a presigned URL of another library is accepted until it expires", async () => {
  assert.equal(await get(await presign(url)), "200");
  assert.equal(await get(await test.lite.presignedGetObject("folder/object")), "200");
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1000);
  assert.equal(await get(await presign(url, { at: ago(250) })), "200");
  const expired = await fetch(await presign(url, { at: ago(302) }));
  assert.match(await expired.text(), /<Code>AccessDenied<\/Code><Message>Request has expired</);
  assert.equal(expired.status, 403);
  assert.equal(await get(await presign(url, { at: ago(604_000), expires: "604800" })), "200");
});

Deno.test("a presigned URL dated beyond the clock skew is not yet valid", async () => {
  const early = await fetch(await presign(url, { at: new Date(Date.now() + 3600_000) }));
  assert.match(await early.text(), /<Code>AccessDenied<\/Code><Message>Request is not yet valid</);
  assert.equal(early.status, 403);
  assert.equal(await get(await presign(url, { at: new Date(Date.now() + 60_000) })), "200");
});

Deno.test("X-Amz-Expires must be a number from 1 to 604800", async () => {
  for (const expires of ["604801", "0", "-1", "1e3", "", "99999999"]) {
    assert.equal(
      await get(await presign(url, { expires })),
      "403 AuthorizationQueryParametersError",
      expires,
    );
  }
});

Deno.test("a URL signed with another secret, key id, region or service is rejected", async () => {
  assert.equal(await get(await presign(url, { secretAccessKey: "other" })), "403 SignatureDoesNotMatch");
  assert.equal(await get(await presign(url, { accessKeyId: "other" })), "403 InvalidAccessKeyId");
  assert.equal(
    await get(await presign(url, { region: "us-east-1" })),
    "403 AuthorizationQueryParametersError",
  );
  assert.equal(await get(await presign(url, { service: "sts" })), "403 AuthorizationQueryParametersError");
});

Deno.test("every change of a presigned URL makes it invalid", async () => {
  const good = await presign(test.url("folder/object", { "response-content-type": "text/plain" }));
  const changed: [string, (u: URL) => void][] = [
    ["key", (u) => u.pathname = u.pathname.replace("object", "objecT")],
    ["added override", (u) => u.searchParams.set("response-cache-control", "public")],
    ["override", (u) => u.searchParams.set("response-content-type", "text/html")],
    ["removed override", (u) => u.searchParams.delete("response-content-type")],
    ["expiry", (u) => u.searchParams.set("X-Amz-Expires", "301")],
    ["signature", (u) => u.searchParams.set("X-Amz-Signature", FAKE)],
    ["signature's form", (u) => u.searchParams.set("X-Amz-Signature", "short")],
    ["empty parameter", (u) => u.searchParams.set("x", "")],
  ];
  assert.equal(await get(good), "200");
  for (const [what, change] of changed) {
    const target = new URL(good);
    change(target);
    assert.equal(await get(target.href), "403 SignatureDoesNotMatch", what);
  }
  assert.equal(await get(good, { method: "DELETE" }), "403 SignatureDoesNotMatch");
  assert.equal(await get(good, { method: "HEAD" }), "403");
});

Deno.test("a presigned URL with a missing or repeated parameter is malformed", async () => {
  const good = await presign(url);
  for (const name of ["Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature"]) {
    const target = new URL(good);
    target.searchParams.delete(`X-Amz-${name}`);
    assert.equal(await get(target.href), "403 AuthorizationQueryParametersError", name);
    const twice = `${good}&X-Amz-${name}=x`;
    assert.equal(await get(twice), "403 AuthorizationQueryParametersError", name);
  }
  for (
    const [name, value] of [["Algorithm", "AWS4-ECDSA"], ["Date", "today"], [
      "SignedHeaders",
      "accept",
    ]] as const
  ) {
    const target = new URL(good);
    target.searchParams.set(`X-Amz-${name}`, value);
    assert.equal(await get(target.href), "403 AuthorizationQueryParametersError", name);
  }
});

Deno.test("a signed header must be sent with the signed value", async () => {
  const signed = await presign(test.url("headers"), {
    method: "PUT",
    headers: { "content-type": "a/b", "content-length": "3" },
  });
  const put = async (headers: HeadersInit, body = "abc") =>
    await get(signed, { method: "PUT", headers, body });
  assert.equal(await put({ "content-type": "a/c" }), "403 SignatureDoesNotMatch");
  assert.equal(await put({}), "403 SignatureDoesNotMatch");
  assert.equal(await put({ "content-type": "a/b" }, "abcd"), "403 SignatureDoesNotMatch");
  assert.equal(await put({ "content-type": "a/b" }), "200");
  const meta = await presign(url, { headers: { "x-amz-meta-a": "1" } });
  assert.equal(await get(meta), "403 SignatureDoesNotMatch");
});

Deno.test("a chunked body does not bypass a signed length", async () => {
  const signed = await presign(url, { method: "PUT", headers: { "content-length": "3" } });
  const headers = { "transfer-encoding": "chunked" };
  const answer = await sendRaw(signed, { method: "PUT", headers, body: "abc" });
  assert.equal(await outcome(answer), "403 SignatureDoesNotMatch");
});

Deno.test("a URL signed for another host is rejected", async () => {
  const answer = await sendRaw(await presign(url), { headers: { host: "elsewhere.test" } });
  assert.equal(await outcome(answer), "403 SignatureDoesNotMatch");
});

Deno.test("x-amz headers that were not signed are rejected", async () => {
  const signed = await presign(url);
  assert.equal(await get(signed, { headers: { "x-amz-meta-a": "1" } }), "403 AccessDenied");
  const copy = await presign(test.url("copy"), { method: "PUT" });
  const headers = { "x-amz-copy-source": "/first-bucket/folder/object" };
  assert.equal(await get(copy, { method: "PUT", headers }), "403 AccessDenied");
});

Deno.test("header signatures of other libraries are accepted", async () => {
  assert.equal(await (await test.lite.getObject("folder/object")).text(), "content");
  assert.equal(await outcome(await test.aws.fetch(url)), "200");
});

Deno.test("every change of a request signed by header makes it invalid", async () => {
  const sign = async (o: Record<string, unknown> = {}) => {
    const signer = new AwsV4Signer({ ...awsCredentials(), service: "s3", url, method: "GET", ...o });
    return new Headers((await signer.sign()).headers);
  };
  const send = async (headers: Headers, init: RequestInit = {}, to = url) =>
    await get(to, { headers, ...init });
  assert.equal(await send(await sign()), "200");
  assert.equal(await send(await sign(), { method: "DELETE" }), "403 SignatureDoesNotMatch");
  assert.equal(await send(await sign(), {}, test.url("folder/other")), "403 SignatureDoesNotMatch");
  assert.equal(await send(await sign(), {}, `${url}?list-type=2`), "403 SignatureDoesNotMatch");
  assert.equal(await send(await sign({ region: "us-east-1" })), "403 AuthorizationHeaderMalformed");
  assert.equal(await send(await sign({ secretAccessKey: "other" })), "403 SignatureDoesNotMatch");
  assert.equal(await send(await sign({ accessKeyId: "other" })), "403 InvalidAccessKeyId");
  assert.equal(await send(await sign({ datetime: "20200101T000000Z" })), "403 RequestTimeTooSkewed");
  const extra = await sign();
  extra.set("x-amz-meta-a", "1");
  assert.equal(await send(extra), "403 AccessDenied");
  const undated = await sign();
  undated.delete("x-amz-date");
  assert.equal(await send(undated), "403 AccessDenied");
  const unhashed = await sign();
  unhashed.delete("x-amz-content-sha256");
  assert.equal(await send(unhashed), "400 InvalidRequest");
  assert.equal(await send(await sign(), {}, await presign(url)), "400 InvalidArgument");
});

Deno.test("the SHA-256 of a signed body is checked while it streams", async () => {
  const target = test.url("hashed");
  const put = async (hash: string, body: string) =>
    await outcome(
      await test.aws.fetch(target, { method: "PUT", body, headers: { "x-amz-content-sha256": hash } }),
    );
  const right = createHash("sha256").update("body").digest("hex");
  assert.equal(await put(right, "bodY"), "400 XAmzContentSHA256Mismatch");
  assert.equal(await put(FAKE, "body"), "400 XAmzContentSHA256Mismatch");
  assert.equal(await test.store.head("hashed"), null);
  assert.equal(await put("nonsense", "body"), "400 InvalidArgument");
  assert.equal(await put("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "body"), "501 NotImplemented");
  assert.equal(await put(right, "body"), "200");
  assert.equal(await put("UNSIGNED-PAYLOAD", "any"), "200");
});

Deno.test({
  name: "a client can read the rejection of a large upload",
  ...SHORT,
  fn: async () => {
    const body = new Uint8Array(20 * 1024 * 1024);
    assert.equal(await get(url, { method: "PUT", body }), "403 AccessDenied");
  },
});
