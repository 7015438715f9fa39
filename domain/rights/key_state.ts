import type { Sql, SqlPart } from "../../infra/postgres/postgres.ts";

/** State of an API key or service account, as seen by the holder of its current or former secret. */
export interface KeyState {
  id: string;
  revoked: boolean;
  expired: boolean;
  /** The secret was replaced, and the time in which it stayed good is over. */
  replaced: boolean;
  /** The end of the key or of its former secret, whichever is held; null: none. */
  endsAt: Date | null;
}

/** SQL conditions on a row `k`: the secret at hand is its current one, or its former one. */
export interface HeldSecret {
  isCurrent: SqlPart;
  isFormer: SqlPart;
}

export const secretOfHash = (q: Sql, hash: Uint8Array): HeldSecret => ({
  isCurrent: q`k.hash = ${hash}`,
  isFormer: q`k.former_hash = ${hash}`,
});

/** SQL columns of the state of the key `k`. */
export const keyState = (q: Sql, { isCurrent, isFormer }: HeldSecret) =>
  q`k.id, k.revoked_at is not null as revoked, coalesce(k.expires_at <= now(), false) as expired,
    not (${isCurrent} or coalesce(${isFormer} and k.former_until > now(), false)) as replaced,
    least(k.expires_at, case when not ${isCurrent} then k.former_until end) as ends_at`;
