import { AwsV4Signer } from "aws4fetch";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { awsCredentials, outcome, presign, sendRaw, startTestStore } from "./support.ts";

const test = await startTestStore();
Deno.test.afterAll(() => test.stop());
await test.lite.putObject("folder/object", "content");
const url = test.url("folder/object");

const FAKE = "0".repeat(64);

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

const NOT_SIGNED = "403 SignatureDoesNotMatch";
const MALFORMED = "403 AuthorizationQueryParametersError";
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000);

Deno.test("a presigned URL of another library is accepted from its date on until it expires, with its secret, signed headers, key id, region and service only", async () => {
  assert.equal(await get(await test.lite.presignedGetObject("folder/object")), "200");
  const urls: [change: Parameters<typeof presign>[1], expected: string, reason?: RegExp][] = [
    [{}, "200"],
    [{ at: inSeconds(-250) }, "200"],
    [{ at: inSeconds(-302) }, "403 AccessDenied", /<Message>Request has expired</],
    [{ at: inSeconds(-604_000), expires: "604800" }, "200"],
    [{ at: inSeconds(60) }, "200"],
    [{ at: inSeconds(3600) }, "403 AccessDenied", /<Message>Request is not yet valid</],
    ...["604801", "0", "-1", "1e3", "", "99999999"].map((
      expires,
    ): [object, string] => [{ expires }, MALFORMED]),
    [{ secretAccessKey: "other" }, NOT_SIGNED],
    [{ headers: { "x-amz-meta-a": "1" } }, NOT_SIGNED],
    [{ accessKeyId: "other" }, "403 InvalidAccessKeyId"],
    [{ region: "us-east-1" }, MALFORMED],
    [{ service: "sts" }, MALFORMED],
  ];
  for (const [change, expected, reason = /./] of urls) {
    const answer = await fetch(await presign(url, change));
    const body = await answer.text();
    assert.equal(
      await outcome({ status: answer.status, headers: {}, body }),
      expected,
      JSON.stringify(change),
    );
    assert.match(body, reason);
  }
});

Deno.test("every change of a presigned URL makes it invalid", async () => {
  const good = await presign(test.url("folder/object", { "response-content-type": "text/plain" }));
  assert.equal(await get(good), "200");
  const changes: [from: RegExp, to: string][] = [
    [/object/, "objecT"],
    [/$/, "&response-cache-control=public"],
    [/text%2Fplain/, "text%2Fhtml"],
    [/Expires=300/, "Expires=301"],
    [/Signature=\w+/, `Signature=${FAKE}`],
    [/$/, "&x="],
  ];
  for (const [from, to] of changes) assert.equal(await get(good.replace(from, to)), NOT_SIGNED, to);
  assert.equal(await get(good, { method: "DELETE" }), NOT_SIGNED);
});

Deno.test("a presigned URL with a missing, repeated or wrong parameter is malformed", async () => {
  const good = await presign(url);
  const wrong = { Algorithm: "AWS4-ECDSA", Date: "today", SignedHeaders: "accept" };
  for (const name of ["Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature"]) {
    const target = new URL(good);
    target.searchParams.delete(`X-Amz-${name}`);
    assert.equal(await get(target.href), MALFORMED, name);
    assert.equal(await get(`${good}&X-Amz-${name}=x`), MALFORMED, name);
  }
  for (const [name, value] of Object.entries(wrong)) {
    const target = new URL(good);
    target.searchParams.set(`X-Amz-${name}`, value);
    assert.equal(await get(target.href), MALFORMED, name);
  }
});

Deno.test("a chunked body does not bypass a signed length, and a URL signed for another host is rejected", async () => {
  const signed = await presign(url, { method: "PUT", headers: { "content-length": "3" } });
  const headers = { "transfer-encoding": "chunked" };
  assert.equal(await outcome(await sendRaw(signed, { method: "PUT", headers, body: "abc" })), NOT_SIGNED);
  const elsewhere = await sendRaw(await presign(url), { headers: { host: "elsewhere.test" } });
  assert.equal(await outcome(elsewhere), NOT_SIGNED);
});

Deno.test("header signatures of other libraries are accepted, and every change makes them invalid", async () => {
  assert.equal(await (await test.lite.getObject("folder/object")).text(), "content");
  assert.equal(await outcome(await test.aws.fetch(url)), "200");
  const sign = async (o: Record<string, unknown> = {}) => {
    const signer = new AwsV4Signer({ ...awsCredentials(), service: "s3", url, method: "GET", ...o });
    return new Headers((await signer.sign()).headers);
  };
  const without = async (name: string) => {
    const headers = await sign();
    headers.delete(name);
    return headers;
  };
  const extra = await sign();
  extra.set("x-amz-meta-a", "1");
  const requests: [headers: Headers, expected: string, to?: string, method?: string][] = [
    [await sign(), "200"],
    [await sign(), NOT_SIGNED, url, "DELETE"],
    [await sign(), NOT_SIGNED, test.url("folder/other")],
    [await sign(), NOT_SIGNED, `${url}?list-type=2`],
    [await sign({ region: "us-east-1" }), "403 AuthorizationHeaderMalformed"],
    [await sign({ secretAccessKey: "other" }), NOT_SIGNED],
    [await sign({ accessKeyId: "other" }), "403 InvalidAccessKeyId"],
    [await sign({ datetime: "20200101T000000Z" }), "403 RequestTimeTooSkewed"],
    [extra, "403 AccessDenied"],
    [await without("x-amz-date"), "403 AccessDenied"],
    [await without("x-amz-content-sha256"), "400 InvalidRequest"],
    [await sign(), "400 InvalidArgument", await presign(url)],
  ];
  for (const [i, [headers, expected, to = url, method = "GET"]] of requests.entries()) {
    assert.equal(await get(to, { headers, method }), expected, `request ${i}`);
  }
});

Deno.test("the SHA-256 of a signed body is checked while it streams", async () => {
  const put = async (hash: string, body: string) => {
    const headers = { "x-amz-content-sha256": hash };
    return await outcome(await test.aws.fetch(test.url("hashed"), { method: "PUT", body, headers }));
  };
  const right = createHash("sha256").update("body").digest("hex");
  assert.equal(await put(right, "bodY"), "400 XAmzContentSHA256Mismatch");
  assert.equal(await test.store.head("hashed"), null);
  assert.equal(await put("nonsense", "body"), "400 InvalidArgument");
  assert.equal(await put(right, "body"), "200");
  assert.equal(await put("UNSIGNED-PAYLOAD", "any"), "200");
});

Deno.test("a client can read the rejection of a large upload", {
  sanitizeOps: false,
  sanitizeResources: false,
}, async () => {
  assert.equal(await get(url, { method: "PUT", body: new Uint8Array(20 * 1024 * 1024) }), "403 AccessDenied");
});

Deno.test("x-amz headers that were not signed are rejected", async () => {
  const signed = await presign(url);
  assert.equal(await get(signed, { headers: { "x-amz-meta-a": "1" } }), "403 AccessDenied");
  const copy = await presign(test.url("copy"), { method: "PUT" });
  const headers = { "x-amz-copy-source": "/first-bucket/folder/object" };
  assert.equal(await get(copy, { method: "PUT", headers }), "403 AccessDenied");
});
