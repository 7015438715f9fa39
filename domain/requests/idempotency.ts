// Work done under an Idempotency-Key. Where one transaction can hold it, key, work and answer commit together, so that a
// crash at any instant leaves all or nothing. Work that reaches outside (a mail, a report's file) is claimed first, and
// its first transaction marks the claim: a crash before it leaves a key that can be taken over once the claim has run
// out, a crash after it leaves one that tells that the outcome is unknown.
import { createHash } from "node:crypto";
import { shareTransaction, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { beginningWith } from "../../infra/postgres/shared_transaction.ts";
import { type Caller, countedAs } from "../access/caller.ts";
import { problem } from "../problems/problem.ts";
import { newId } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";

export const KEY_HOURS = 24;

/** A request that is to have its effect once, however often it is sent. */
export interface KeyedRequest {
  caller: Pick<Caller, "userId" | "apiKeyId" | "tenantId">;
  /** Operation id: the same key on another route is another key. */
  operation: string;
  key: string;
  /** Everything that makes this request what it is. */
  content: (string | Uint8Array)[];
}

/** An answer as it is kept: its body is text by now. */
export interface KeptAnswer {
  status: number;
  headers: Record<string, string>;
  body: string | null;
}

export interface OnceAnswer extends KeptAnswer {
  isReplayed: boolean;
}

interface Held {
  isSame: boolean;
  status: number | null;
  headers: Record<string, string> | null;
  body: string | null;
  begun: boolean;
  isClaimed: boolean;
}

/**
 * Answers a request whose work is all in the database. A failure of `work` undoes everything and frees the key.
 * @param work may run again from the start after a deadlock; what it does through `p.sql` is part of one transaction.
 * @throws IDEMPOTENCY_KEY_REUSED_UNPROCESSABLE, IDEMPOTENCY_KEY_IN_USE_CONFLICT
 */
export async function answerOnce(
  p: Pick<Platform, "sql">,
  request: KeyedRequest,
  work: () => Promise<KeptAnswer>,
): Promise<OnceAnswer> {
  const names = namesOf(request);
  return await shareTransaction(p.sql, async (tx) => {
    const known = await lockKey(tx, names);
    if (known) return replay(known);
    const answer = await work();
    await tx`insert into idempotency_keys (id, fingerprint, status, headers, body)
      values (${names.id}, ${names.fingerprint}, ${answer.status}, ${
      JSON.stringify(answer.headers)
    }::text::jsonb,
        ${answer.body})`;
    return { ...answer, isReplayed: false };
  });
}

/**
 * Answers a request whose work goes on outside of the database too.
 * @param work answers its failures as well: once something was done, the answer is kept whatever it says.
 * @param o.claimSeconds longer than the work can take; whoever died over it before it did anything is replaced then.
 * @throws IDEMPOTENCY_KEY_REUSED_UNPROCESSABLE, IDEMPOTENCY_KEY_IN_USE_CONFLICT,
 * IDEMPOTENCY_OUTCOME_UNKNOWN_CONFLICT
 */
export async function answerOnceInSteps(
  p: Pick<Platform, "sql">,
  request: KeyedRequest,
  work: () => Promise<KeptAnswer>,
  o: { claimSeconds: number },
): Promise<OnceAnswer> {
  const names = namesOf(request);
  const claim = newId();
  const known = await transact(p.sql, async (tx) => {
    const held = await lockKey(tx, names);
    if (held) return held;
    await tx`insert into idempotency_keys (id, fingerprint, claim, claimed_until)
      values (${names.id}, ${names.fingerprint}, ${claim}, now() + make_interval(secs => ${o.claimSeconds}))
      on conflict (id) do update set claim = excluded.claim, claimed_until = excluded.claimed_until`;
    return null;
  });
  if (known) return replay(known);
  const mine = p.sql`id = ${names.id} and claim = ${claim}`;
  const answer = await beginningWith(async (tx) => {
    const { count } = await tx`update idempotency_keys set begun = true where ${mine}`;
    if (count === 0) throw inUse(); // this instance was slow and another has taken over
  }, work);
  await transact(p.sql, async (tx) => {
    if (answer.status >= 400) await tx`delete from idempotency_keys where ${mine} and not begun`;
    await tx`update idempotency_keys set status = ${answer.status}, body = ${answer.body},
      headers = ${JSON.stringify(answer.headers)}::text::jsonb where ${mine}`;
  });
  return { ...answer, isReplayed: false };
}

/**
 * Keeps others with the same key out until `tx` ends, and looks what is known of it: null where the work is still to
 * be done.
 */
async function lockKey(tx: Tx, { id, fingerprint }: Names): Promise<Held | null> {
  const [[lock], , [held]] = await Promise.all([
    tx<
      { taken: boolean }[]
    >`select pg_try_advisory_xact_lock(${id.readBigInt64BE().toString()}::bigint) as taken`,
    tx`delete from idempotency_keys where id = ${id} and created_at < now() - make_interval(hours => ${KEY_HOURS})`,
    // A statement of its own: its snapshot is taken under the lock.
    tx<Held[]>`select fingerprint = ${fingerprint} as is_same, status, headers, body, begun,
      claimed_until > now() as is_claimed from idempotency_keys where id = ${id}`,
  ]);
  if (!lock?.taken) throw inUse();
  if (!held) return null;
  if (!held.isSame) {
    throw problem(
      "IDEMPOTENCY_KEY_REUSED_UNPROCESSABLE",
      "The Idempotency-Key was sent before with another path, query or body; a new request needs a new key.",
    );
  }
  if (held.status !== null) return held;
  if (held.isClaimed) throw inUse();
  if (!held.begun) return null;
  throw problem(
    "IDEMPOTENCY_OUTCOME_UNKNOWN_CONFLICT",
    "The first request with this Idempotency-Key was interrupted after it had begun; what it did is not known.",
  );
}

const replay = ({ status, headers, body }: Held): OnceAnswer => ({
  status: status ?? 200,
  headers: headers ?? {},
  body,
  isReplayed: true,
});

const inUse = () =>
  problem(
    "IDEMPOTENCY_KEY_IN_USE_CONFLICT",
    "A request with this Idempotency-Key is being worked on at this moment.",
    { headers: { "retry-after": "1" } },
  );

interface Names {
  id: Buffer;
  fingerprint: Buffer;
}

function namesOf({ caller, operation, key, content }: KeyedRequest): Names {
  const fingerprint = createHash("sha256");
  for (const part of content) fingerprint.update(String(part.length)).update("\n").update(part);
  const scope = JSON.stringify([countedAs(caller), caller.tenantId, operation, key]);
  return { id: createHash("sha256").update(scope).digest(), fingerprint: fingerprint.digest() };
}
