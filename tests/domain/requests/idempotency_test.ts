import assert from "node:assert/strict";
import { Problem } from "../../../domain/problems/problem.ts";
import {
  answerOnceInSteps,
  type KeyedRequest,
  type OnceWork,
  pruneIdempotencyKeysJob,
  type StepsAnswer,
  type StoredAnswer,
} from "../../../domain/requests/idempotency.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { mainPool, type Pool, transact } from "../../../infra/postgres/postgres.ts";
import { finish } from "../../support/maintenance.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupShared();
const sql = mainPool(t.sql);

const request = (content = "body"): KeyedRequest => ({
  caller: { userId: newId(), apiKeyId: null, tenantId: newId() },
  operation: "sendLetter",
  key: "k",
  content: [content],
});
const sent: StoredAnswer = {
  status: 200,
  headers: { "content-type": "application/json" },
  body: '{"sent":1}',
};
const inSteps = (
  keyed: KeyedRequest,
  work: (once: OnceWork, own: Pool) => Promise<StepsAnswer>,
  o: { signal?: AbortSignal; claimSeconds: number } = { claimSeconds: 60 },
) => answerOnceInSteps(sql, keyed, work, o);
const writes = (own: Pool) => transact(own, (tx) => tx`select 1`);
const refusedAs = (code: string) => (error: unknown) => error instanceof Problem && error.code === code;
/** Expires the claim, as if its process had crashed earlier. */
const expireClaims = () =>
  sql`update idempotency_keys set claimed_until = now() - interval '1 second'
  where claim is not null`;
const crashed = new Error("the process crashed");
const crash = async () => {
  await Promise.resolve();
  throw crashed;
};

Deno.test("work of several steps is done once; repeats are rejected while it runs", async () => {
  const keyed = request();
  const answer = await inSteps(keyed, async (_, own) => {
    await assert.rejects(
      inSteps(keyed, () => Promise.resolve(sent)),
      refusedAs("IDEMPOTENCY_KEY_IN_USE_CONFLICT"),
    );
    await writes(own);
    return sent;
  });
  assert.deepEqual(answer, { ...sent, isReplayed: false });
  assert.deepEqual(await inSteps(keyed, crash), { ...sent, isReplayed: true });
  await assert.rejects(
    inSteps({ ...keyed, content: ["bo", "dy"] }, crash),
    refusedAs("IDEMPOTENCY_KEY_REUSED_UNPROCESSABLE"),
  );
});

Deno.test("after a crash before the first write, the key is free when its claim expires", async () => {
  const keyed = request();
  await assert.rejects(inSteps(keyed, crash), crashed);
  await assert.rejects(inSteps(keyed, crash), (error) => {
    assert.ok(refusedAs("IDEMPOTENCY_KEY_IN_USE_CONFLICT")(error));
    const seconds = Number((error as Problem).extras.headers?.["retry-after"]);
    assert.ok(seconds > 0 && seconds <= 60, `the claim ends in ${seconds} s`);
    return true;
  });
  await expireClaims();
  assert.equal((await inSteps(keyed, () => Promise.resolve(sent))).isReplayed, false);
});

Deno.test("after a crash during the work, the next request with the key gets the same work id", async () => {
  const keyed = request();
  const received: OnceWork[] = [];
  const crashAfterWrite = async (once: OnceWork, own: Pool) => {
    received.push(once);
    await writes(own);
    return await crash();
  };
  for (const _ of [1, 2]) {
    await assert.rejects(inSteps(keyed, crashAfterWrite), crashed);
    await assert.rejects(inSteps(keyed, crash), refusedAs("IDEMPOTENCY_KEY_IN_USE_CONFLICT"));
    await expireClaims();
  }
  assert.equal((await inSteps(keyed, (once) => (received.push(once), Promise.resolve(sent)))).status, 200);
  assert.deepEqual(received.map(({ isRepeat }) => isRepeat), [false, true, true]);
  assert.equal(new Set(received.map(({ id }) => id)).size, 1);
  assert.deepEqual(await inSteps(keyed, crash), { ...sent, isReplayed: true });
});

Deno.test("a transient error is never stored, even after a write", async () => {
  const transientAnswers: StepsAnswer[] = [
    ...[408, 425, 429, 500, 503].map((status) => ({ status, headers: {}, body: null })),
    { status: 409, headers: { "retry-after": "1" }, body: null },
    { ...sent, isProvisional: true },
  ];
  for (const answer of transientAnswers) {
    const keyed = request();
    const first = await inSteps(keyed, async (_, own) => {
      await writes(own);
      return answer;
    });
    assert.equal(first.status, answer.status);
    assert.deepEqual(await inSteps(keyed, () => Promise.resolve(sent)), { ...sent, isReplayed: false });
  }
});

Deno.test("a claim is renewed while its work runs and released when the request times out", async () => {
  const keyed = request();
  const isInUse = refusedAs("IDEMPOTENCY_KEY_IN_USE_CONFLICT");
  const timeout = new AbortController();
  const answer = await inSteps(keyed, async (_, own) => {
    await writes(own);
    const claimedUntil = async () => {
      const [row] = await sql`select claimed_until from idempotency_keys where status is null and begun`;
      return row?.claimedUntil.getTime();
    };
    const before = await claimedUntil();
    await until(claimedUntil, (now) => now !== before);
    await assert.rejects(inSteps(keyed, crash), isInUse);
    timeout.abort();
    await until(
      () => inSteps(keyed, () => Promise.resolve(sent)).catch((error) => error),
      (other) => !isInUse(other),
    );
    return { ...sent, body: "too late" };
  }, { signal: timeout.signal, claimSeconds: 1 });
  assert.equal(answer.body, "too late");
  assert.deepEqual(await inSteps(keyed, crash), { ...sent, isReplayed: true });
});

Deno.test("a request that lost its claim to another one cannot start its work", async () => {
  const keyed = request();
  await assert.rejects(
    inSteps(keyed, async (_, own) => {
      await expireClaims();
      const replacement = async (_: OnceWork, theirs: Pool) => {
        await writes(theirs);
        return sent;
      };
      await inSteps(keyed, replacement); // another process
      await writes(own);
      return { ...sent, body: "too late" };
    }),
    refusedAs("IDEMPOTENCY_KEY_IN_USE_CONFLICT"),
  );
  assert.deepEqual(await inSteps(keyed, crash), { ...sent, isReplayed: true });
});

Deno.test("a final error is stored after a write; before any write it frees the key", async () => {
  const refusal = { status: 400, headers: {}, body: "no" };
  const before = request();
  assert.equal((await inSteps(before, () => Promise.resolve(refusal))).status, 400);
  assert.equal((await inSteps(before, () => Promise.resolve(sent))).status, 200);
  const after = request();
  await inSteps(after, async (_, own) => {
    await writes(own);
    return refusal;
  });
  assert.deepEqual(await inSteps(after, crash), { ...refusal, isReplayed: true });
});

Deno.test("a built-in job deletes expired keys", async () => {
  await sql`delete from idempotency_keys`;
  const [old, young] = [request(), request()];
  await inSteps(old, () => Promise.resolve(sent));
  await sql`update idempotency_keys set created_at = now() - interval '24 hours 1 second'`;
  await inSteps(young, () => Promise.resolve(sent));
  assert.deepEqual(await finish(pruneIdempotencyKeysJob, t.platform), { pruned: 1 });
  assert.equal((await inSteps(young, crash)).isReplayed, true);
});
