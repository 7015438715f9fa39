// Work under an Idempotency-Key. If one transaction can do all the work, key, work and answer commit together, so a crash
// leaves all or nothing. Work with effects outside the database (a mail, a report's file) claims the key first. Its
// instance renews the claim while the work runs; after the claim expires, a repeat takes the key over. The key gives the
// work an id, which is the same for every repeat, so a repeat finds what an interrupted request created.
import { createHash } from "node:crypto";
import { type Pool, transact, type Tx, withTransactionSetup } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { type Caller, principalId } from "../rights/caller.ts";
import { newId, timeOfId } from "../shared/ids.ts";
import { deleteExpired, maintenanceJob } from "../jobs/maintenance.ts";
import type { PersonalData } from "../shared/personal_data.ts";

const KEY_HOURS = 24;

/** A request that must take effect only once, even if it is sent several times. */
export interface KeyedRequest {
  caller: Pick<Caller, "userId" | "apiKeyId" | "tenantId">;
  /** Operation id; keys of different routes are independent. */
  operation: string;
  key: string;
  /** Path, query and body. They detect a different request with the same key. */
  content: (string | Uint8Array)[];
}

/** An answer as it is stored, with its body as text. */
export interface StoredAnswer {
  status: number;
  headers: Record<string, string>;
  body: string | null;
}

export interface OnceAnswer extends StoredAnswer {
  isReplayed: boolean;
}

/** The data of the key, as work of several steps gets it. */
export interface OnceWork {
  /** Id for the row that the work creates; the same for every request with this key. */
  id: string;
  /** True if an earlier request with this key started to write and has no final answer. */
  isRepeat: boolean;
}

/** An answer of work of several steps. */
export interface StepsAnswer extends StoredAnswer {
  /** True if the answer must not be stored, so that a repeat does the work again. */
  isProvisional?: boolean;
}

interface KeyRow {
  isSame: boolean;
  status: number | null;
  headers: Record<string, string> | null;
  body: string | null;
  /** Seconds until the claim expires; null if it has expired or there is none. */
  claimedSeconds: number | null;
}

/** Statuses below 500 after which a repeat may succeed. */
const TRANSIENT = new Set([408, 425, 429]);

/**
 * Answers a request whose work is only in the database. If `work` fails, everything is rolled back, including the key.
 * @param work does everything in `tx`. After a deadlock it runs again from the start.
 * @throws IDEMPOTENCY_KEY_REUSED_UNPROCESSABLE, IDEMPOTENCY_KEY_IN_USE_CONFLICT
 */
export async function answerOnce(
  sql: Pool,
  request: KeyedRequest,
  work: (tx: Tx) => Promise<StoredAnswer>,
): Promise<OnceAnswer> {
  const hashes = keyHashes(request);
  return await transact(sql, async (tx) => {
    const known = await lockKey(tx, hashes);
    if (known) return replay(known);
    const answer = await work(tx);
    const headers = JSON.stringify(answer.headers);
    await tx`insert into idempotency_keys (id, fingerprint, status, headers, body)
      values (${hashes.id}, ${hashes.fingerprint}, ${answer.status}, ${headers}::text::jsonb,
        ${answer.body})`;
    return { ...answer, isReplayed: false };
  });
}

/**
 * Answers a request whose work also has effects outside the database. Stores successes and final errors. After any other
 * answer, the key can be used again.
 * @param work must return its errors as answers, not throw them. It must write through the given pool, whose transactions
 * fail once another request has taken the key over.
 * @param o.signal aborts when the request has timed out; this releases the claim.
 * @param o.claimSeconds how long a claim lasts without renewal. It expires if the instance crashes, hangs or loses the
 * database.
 * @throws IDEMPOTENCY_KEY_REUSED_UNPROCESSABLE, IDEMPOTENCY_KEY_IN_USE_CONFLICT
 */
export async function answerOnceInSteps(
  sql: Pool,
  request: KeyedRequest,
  work: (once: OnceWork, sql: Pool) => Promise<StepsAnswer>,
  o: { signal?: AbortSignal; claimSeconds: number },
): Promise<OnceAnswer> {
  const hashes = keyHashes(request);
  const claim = newId();
  const { signal, claimSeconds } = o;
  const end = sql`now() + make_interval(secs => ${claimSeconds})`;
  const taken = await transact(sql, async (tx) => {
    const stored = await lockKey(tx, hashes);
    if (stored) return replay(stored);
    const [row] = await tx<OnceWork[]>`
      insert into idempotency_keys (id, fingerprint, claim, claimed_until, work_id)
      values (${hashes.id}, ${hashes.fingerprint}, ${claim}, ${end}, ${newId()})
      on conflict (id) do update set claim = excluded.claim, claimed_until = excluded.claimed_until,
        work_id = coalesce(idempotency_keys.work_id, excluded.work_id)
      returning work_id as id, begun as is_repeat`;
    if (!row) throw new Error("a claimed key was not returned");
    return row;
  });
  if ("isReplayed" in taken) return taken;

  const ownRow = sql`id = ${hashes.id} and claim = ${claim}`;
  const setEnd = (until: typeof end) =>
    sql`update idempotency_keys set claimed_until = ${until} where ${ownRow} and status is null`
      .catch(() => {}); // without the database the claim expires by itself
  let renewal = Promise.resolve<unknown>(undefined);
  const renewing = setInterval(() => renewal = renewal.then(() => setEnd(end)), claimSeconds * 1000 / 3);
  const releaseClaim = async () => {
    clearInterval(renewing);
    await renewal; // otherwise a renewal on another connection could be written after the release
    await setEnd(sql`date_trunc('milliseconds', now())`); // the column would round the time up, into the future
  };
  signal?.addEventListener("abort", releaseClaim, { once: true });
  let isWorking = true;
  const keyed = withTransactionSetup(sql, async (tx) => {
    if (!isWorking) return; // work that continues after the answer does not belong to the key
    const { count } = await tx`update idempotency_keys set begun = true where ${ownRow}`;
    if (count === 0) throw inUse(claimSeconds); // the claim expired and another request took the key over
  });
  try {
    const { isProvisional = false, ...answer } = await work(taken, keyed).finally(() => isWorking = false);
    const isTransient = isProvisional || isTransientError(answer);
    await transact(sql, async (tx) => {
      if (answer.status >= 400) await tx`delete from idempotency_keys where ${ownRow} and not begun`;
      if (isTransient) return;
      const headers = JSON.stringify(answer.headers);
      await tx`update idempotency_keys set status = ${answer.status}, body = ${answer.body},
        headers = ${headers}::text::jsonb where ${ownRow}`;
    });
    if (isTransient) await releaseClaim();
    return { ...answer, isReplayed: false };
  } finally {
    clearInterval(renewing);
    signal?.removeEventListener("abort", releaseClaim);
  }
}

const isTransientError = ({ status, headers }: StoredAnswer): boolean =>
  status >= 500 || TRANSIENT.has(status) || status >= 400 && headers["retry-after"] !== undefined;

/**
 * Locks the key until `tx` ends and reads its stored answer.
 * @returns null if the work must be done
 * @throws IDEMPOTENCY_KEY_REUSED_UNPROCESSABLE, IDEMPOTENCY_KEY_IN_USE_CONFLICT
 */
async function lockKey(tx: Tx, { id, fingerprint }: ReturnType<typeof keyHashes>): Promise<KeyRow | null> {
  const [[lock], , [stored]] = await Promise.all([
    tx<
      { taken: boolean }[]
    >`select pg_try_advisory_xact_lock(${id.readBigInt64BE().toString()}::bigint) as taken`,
    tx`delete from idempotency_keys where id = ${id} and created_at < now() - make_interval(hours => ${KEY_HOURS})`,
    // A separate statement, so that its snapshot is taken while the lock is held.
    tx<KeyRow[]>`select fingerprint = ${fingerprint} as is_same, status, headers, body,
      case when claimed_until > now() then ceil(extract(epoch from claimed_until - now()))::int end as claimed_seconds
      from idempotency_keys where id = ${id}`,
  ]);
  if (!lock?.taken) throw inUse(1);
  if (!stored) return null;
  if (!stored.isSame) {
    throw problem(
      "IDEMPOTENCY_KEY_REUSED_UNPROCESSABLE",
      "The Idempotency-Key was already sent with another path, query or body; use a new key for a new request.",
    );
  }
  if (stored.status !== null) return stored;
  if (stored.claimedSeconds !== null) throw inUse(stored.claimedSeconds);
  return null;
}

const replay = ({ status, headers, body }: KeyRow): OnceAnswer => ({
  status: status ?? 200,
  headers: headers ?? {},
  body,
  isReplayed: true,
});

const inUse = (retryAfterSeconds: number) =>
  problem(
    "IDEMPOTENCY_KEY_IN_USE_CONFLICT",
    "Another request with this Idempotency-Key is in progress; repeat this one later.",
    { headers: { "retry-after": String(retryAfterSeconds) } },
  );

function keyHashes({ caller, operation, key, content }: KeyedRequest): { id: Buffer; fingerprint: Buffer } {
  const fingerprint = createHash("sha256");
  for (const part of content) fingerprint.update(String(part.length)).update("\n").update(part);
  const scope = JSON.stringify([principalId(caller), caller.tenantId, operation, key]);
  return { id: createHash("sha256").update(scope).digest(), fingerprint: fingerprint.digest() };
}

/** Deletes expired idempotency keys every ten minutes. */
export const pruneIdempotencyKeysJob = maintenanceJob({
  name: "steward.prune-idempotency-keys",
  cron: "*/10 * * * *",
  works: {
    pruned: deleteExpired({ table: "idempotency_keys", column: "created_at", keptFor: `${KEY_HOURS} hours` }),
  },
});

/**
 * Stored answers of keyed requests, which are kept for 24 hours. An answer about the person loses its body: a repeat of
 * the request still does nothing, and gets the status without the body.
 */
export const requestPersonalData: PersonalData = {
  area: "requests",
  async eraseUsers({ sql }, { userIds, addresses, beforeId }) {
    const needles = [...userIds, ...addresses.map((address) => address.toLowerCase())];
    await sql`update idempotency_keys set body = null
      where body is not null and exists (
        select from unnest(${needles}::text[]) needle where strpos(lower(body), needle) > 0
          and (created_at < ${timeOfId(beforeId)} or needle = any(${userIds}::text[])))`;
  },
};
