import assert from "node:assert/strict";
import { outcome, presign, sendRaw, startTestStore } from "./support.ts";

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

Deno.test("a chunked body does not bypass a signed length, and a URL signed for another host is rejected", async () => {
  const signed = await presign(url, { method: "PUT", headers: { "content-length": "3" } });
  const headers = { "transfer-encoding": "chunked" };
  assert.equal(await outcome(await sendRaw(signed, { method: "PUT", headers, body: "abc" })), NOT_SIGNED);
  const elsewhere = await sendRaw(await presign(url), { headers: { host: "elsewhere.test" } });
  assert.equal(await outcome(elsewhere), NOT_SIGNED);
});

Deno.test("x-amz headers that were not signed are rejected", async () => {
  const signed = await presign(url);
  assert.equal(await get(signed, { headers: { "x-amz-meta-a": "1" } }), "403 AccessDenied");
  const copy = await presign(test.url("copy"), { method: "PUT" });
  const headers = { "x-amz-copy-source": "/first-bucket/folder/object" };
  assert.equal(await get(copy, { method: "PUT", headers }), "403 AccessDenied");
});
