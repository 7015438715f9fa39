import assert from "node:assert/strict";
import { createFcm } from "../../../infra/push/fcm.ts";
import type { PushMessage } from "../../../infra/push/push.ts";
import { startFcm } from "../../support/fcm.ts";

const message = (tokens: string[], change: Partial<PushMessage> = {}): PushMessage => ({
  title: "Title",
  body: "Olá",
  data: { order: "7" },
  tokens,
  ...change,
});

const fcm = await startFcm();
Deno.test.afterAll(() => fcm[Symbol.asyncDispose]());
const push = createFcm(fcm.account, { url: fcm.url });

Deno.test("each token gets its own request, over reused connections; simultaneous messages share one sign-in", async () => {
  fcm.beforeAnswer = () => new Promise((resolve) => setTimeout(resolve, 1));
  const tokens = Array.from({ length: 60 }, (_, n) => `device-${n}`);
  const receipt = await push.send(message(tokens));
  fcm.beforeAnswer = () => Promise.resolve();
  assert.deepEqual(receipt.accepted.toSorted(), tokens.toSorted());
  assert.deepEqual(receipt.refused, []);
  const notification = { title: "Title", body: "Olá" };
  assert.deepEqual(fcm.accepted[0], { token: "device-0", notification, data: { order: "7" } });
  assert.equal(fcm.signIns, 1);
  assert.ok(fcm.maxConcurrent > 1 && fcm.maxConcurrent <= 20, `${fcm.maxConcurrent} at once`);
  assert.ok(fcm.connections.size <= 25, `${fcm.connections.size} connections for 61 requests`);
});

Deno.test("an access token is kept until shortly before its expiry; a revoked one is replaced by one sign-in for all requests", async () => {
  let now = Date.now();
  const own = createFcm(fcm.account, { url: fcm.url, now: () => now });
  const before = fcm.signIns;
  const signIns = async (...tokens: string[]) => {
    assert.deepEqual((await own.send(message(tokens))).accepted.toSorted(), tokens);
    return fcm.signIns - before;
  };
  assert.equal(await signIns("a"), 1);
  now += 3_500_000;
  assert.equal(await signIns("b"), 1);
  now += 45_000;
  assert.equal(await signIns("c"), 2);
  fcm.revokeAccessTokens();
  assert.equal(await signIns("d", "e", "f"), 3);
});

Deno.test("FCM's answer for one device or message does not affect the other devices", async () => {
  const answers: [token: string, permanent: boolean, isDead: boolean, reason: RegExp][] = [
    ["gone-1", true, true, /^FCM answered 404 UNREGISTERED: Requested entity was not found\.$/],
    ["bad-1", true, true, /^FCM answered 400 INVALID_ARGUMENT: The registration token/],
    ["badly-1", true, true, /^FCM answered 400 INVALID_ARGUMENT/],
    ["foreign-1", true, false, /403 SENDER_ID_MISMATCH/],
    ["apns-1", false, false, /401 THIRD_PARTY_AUTH_ERROR/],
    ["broken-1", false, false, /500 INTERNAL/],
  ];
  for (const [token, permanent, isDead, reason] of answers) {
    const receipt = await push.send(message(["a", token, "b"]));
    assert.deepEqual(receipt.accepted.toSorted(), ["a", "b"]);
    const [refusal] = receipt.refused;
    assert.deepEqual([refusal?.token, refusal?.permanent, refusal?.isDead], [token, permanent, isDead]);
    assert.match(refusal?.reason ?? "", reason);
    assert.equal(receipt.retryAfterMs, null);
  }
  const { refused } = await push.send(message(["a"], { data: { from: "x" } }));
  assert.deepEqual(refused.map(({ permanent, isDead }) => [permanent, isDead]), [[true, false]]);
});

Deno.test("a quota or an outage ends the run, and the requested delay is passed on", async () => {
  const many = (first: string) => [first, ...Array.from({ length: 100 }, (_, n) => `d${n}`)];
  const runs = [["quota-1", "7", 7_000], ["quota-2", null, 60_000], ["busy-2", null, null]] as const;
  for (const [first, retryAfter, expected] of runs) {
    fcm.retryAfter = retryAfter;
    fcm.requested.length = 0;
    const receipt = await push.send(message(many(first)));
    assert.equal(receipt.retryAfterMs, expected, first);
    assert.deepEqual(receipt.refused.map(({ token, permanent }) => [token, permanent]), [[first, false]]);
    assert.ok(fcm.requested.length < 60, `${fcm.requested.length} requests after FCM had asked to stop`);
    assert.equal(receipt.accepted.length, fcm.requested.length - 1);
  }
});

Deno.test("an aborted attempt reports the devices reached so far", async () => {
  const stop = new AbortController();
  const { promise: never, resolve: release } = Promise.withResolvers<void>();
  fcm.beforeAnswer = () => (stop.abort(), never);
  const ended = await push.send(message(["b", "c"]), stop.signal);
  assert.deepEqual(ended.accepted, []);
  assert.ok(ended.refused.every(({ permanent }) => !permanent));
  release();
  fcm.beforeAnswer = () => Promise.resolve();
});

Deno.test("an outage, a revoked key and an unreachable host mark no device as dead", async () => {
  fcm.isDown = true;
  const down = await push.send(message(["a", "b"]));
  assert.ok(down.refused.length > 0 && down.refused.every(({ permanent, isDead }) => !permanent && !isDead));
  Object.assign(fcm, { isDown: false, isKeyRevoked: true });
  const revoked = await createFcm(fcm.account, { url: fcm.url }).send(message(["a"]));
  const reason = "the provider refused the sign-in (400: Invalid JWT Signature.)";
  assert.deepEqual(revoked.refused, [{ token: "a", permanent: false, isDead: false, reason }]);
  assert.ok(revoked.isUnreachable, "waiting for its end uses up no retry");
  const account = { ...fcm.account, token_uri: "http://127.0.0.1:1/token" };
  const away = await createFcm(account, { url: fcm.url }).send(message(["a"]));
  assert.equal(away.refused[0]?.reason, "the provider could not be reached");
});
