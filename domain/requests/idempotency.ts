// Work done under an Idempotency-Key. Where one transaction can hold it, key, work and answer commit together, so that a
// crash at any instant leaves all or nothing. Work that reaches outside (a mail, a report's file) is claimed first. Its
// instance renews the claim while the work runs; a repeat after the claim's end takes the key over. The key gives the
// work an id that every repeat gets too, so a repeat finds what an interrupted request has made.
import { createHash } from "node:crypto";
import { shareTransaction, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { outsideSharedTransaction, withTransactionSetup } from "../../infra/postgres/shared_transaction.ts";
import { type Caller, principalId } from "../access/caller.ts";
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

/** What work of several steps is told of its key. */
export interface OnceWork {
  /** For what the work makes; the same for every request that takes this key over. */
  id: string;
  /** True where an earlier request with this key has begun to write and no final answer of it is known. */
  isRepeat: boolean;
}

/** An answer of such work. */
export interface StepsAnswer extends KeptAnswer {
  /** True where a repeat is to be answered anew. */
  isProvisional?: boolean;
}

interface Held {
  isSame: boolean;
  status: number | null;
  headers: Record<string, string> | null;
  body: string | null;
  /** Seconds until its claim ends; null where it has ended or was never made. */
  claimedSeconds: number | null;
}

/** Statuses that say "not now", like those of 500 and above. */
const TRANSIENT = new Set([408, 425, 429]);

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
 * Answers a request whose work goes on outside of the database too. Successes and definite refusals are kept; after any
 * other answer the key is free.
 * @param work answers its failures as well.
 * @param o.signal ends the claim: the request was answered that its time is over.
 * @param o.claimSeconds a claim that has not been renewed for so long has ended: its instance died, froze or lost the
 * database.
 * @throws IDEMPOTENCY_KEY_REUSED_UNPROCESSABLE, IDEMPOTENCY_KEY_IN_USE_CONFLICT
 */
export async function answerOnceInSteps(
  p: Pick<Platform, "sql">,
  request: KeyedRequest,
  work: (once: OnceWork) => Promise<StepsAnswer>,
  o: { signal?: AbortSignal; claimSeconds: number },
): Promise<OnceAnswer> {
  const names = namesOf(request);
  const claim = newId();
  const { signal, claimSeconds } = o;
  const end = p.sql`now() + make_interval(secs => ${claimSeconds})`;
  const taken = await transact(p.sql, async (tx) => {
    const held = await lockKey(tx, names);
    if (held) return replay(held);
    const [row] = await tx<OnceWork[]>`
      insert into idempotency_keys (id, fingerprint, claim, claimed_until, work_id)
      values (${names.id}, ${names.fingerprint}, ${claim}, ${end}, ${newId()})
      on conflict (id) do update set claim = excluded.claim, claimed_until = excluded.claimed_until,
        work_id = coalesce(idempotency_keys.work_id, excluded.work_id)
      returning work_id as id, begun as is_repeat`;
    if (!row) throw new Error("a claimed key was not returned");
    return row;
  });
  if ("isReplayed" in taken) return taken;

  const mine = p.sql`id = ${names.id} and claim = ${claim}`;
  const setEnd = (until: typeof end) =>
    outsideSharedTransaction(() =>
      p.sql`update idempotency_keys set claimed_until = ${until} where ${mine} and status is null`
    )
      .catch(() => {}); // with the database away the claim ends by itself
  const renewing = setInterval(() => setEnd(end), claimSeconds * 1000 / 3);
  const letGo = () => {
    clearInterval(renewing);
    return setEnd(p.sql`now()`);
  };
  signal?.addEventListener("abort", letGo, { once: true });
  try {
    const { isProvisional = false, ...answer } = await withTransactionSetup(async (tx) => {
      const { count } = await tx`update idempotency_keys set begun = true where ${mine}`;
      if (count === 0) throw inUse(claimSeconds); // this instance was slow and another has taken over
    }, () => work(taken));
    const isTransient = isProvisional || saysNotNow(answer);
    await transact(p.sql, async (tx) => {
      if (answer.status >= 400) await tx`delete from idempotency_keys where ${mine} and not begun`;
      if (isTransient) return;
      const headers = JSON.stringify(answer.headers);
      await tx`update idempotency_keys set status = ${answer.status}, body = ${answer.body},
        headers = ${headers}::text::jsonb where ${mine}`;
    });
    if (isTransient) await letGo();
    return { ...answer, isReplayed: false };
  } finally {
    clearInterval(renewing);
    signal?.removeEventListener("abort", letGo);
  }
}

const saysNotNow = ({ status, headers }: KeptAnswer): boolean =>
  status >= 500 || TRANSIENT.has(status) || status >= 400 && headers["retry-after"] !== undefined;

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
    tx<Held[]>`select fingerprint = ${fingerprint} as is_same, status, headers, body,
      case when claimed_until > now() then ceil(extract(epoch from claimed_until - now()))::int end as claimed_seconds
      from idempotency_keys where id = ${id}`,
  ]);
  if (!lock?.taken) throw inUse(1);
  if (!held) return null;
  if (!held.isSame) {
    throw problem(
      "IDEMPOTENCY_KEY_REUSED_UNPROCESSABLE",
      "The Idempotency-Key was sent before with another path, query or body; a new request needs a new key.",
    );
  }
  if (held.status !== null) return held;
  if (held.claimedSeconds !== null) throw inUse(held.claimedSeconds);
  return null;
}

const replay = ({ status, headers, body }: Held): OnceAnswer => ({
  status: status ?? 200,
  headers: headers ?? {},
  body,
  isReplayed: true,
});

const inUse = (retryAfterSeconds: number) =>
  problem(
    "IDEMPOTENCY_KEY_IN_USE_CONFLICT",
    "A request with this Idempotency-Key is being worked on at this moment.",
    { headers: { "retry-after": String(retryAfterSeconds) } },
  );

interface Names {
  id: Buffer;
  fingerprint: Buffer;
}

function namesOf({ caller, operation, key, content }: KeyedRequest): Names {
  const fingerprint = createHash("sha256");
  for (const part of content) fingerprint.update(String(part.length)).update("\n").update(part);
  const scope = JSON.stringify([principalId(caller), caller.tenantId, operation, key]);
  return { id: createHash("sha256").update(scope).digest(), fingerprint: fingerprint.digest() };
}
