import { createHmac, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { mainPool, type Pool, type Sql } from "../../infra/postgres/postgres.ts";

/** The permission of an unsubscribe link: to turn off one category of one user's mail. */
export interface UnsubscribeClaim {
  userId: string;
  category: string;
  /** The tenant of the mail, in whose looks the page is shown; null: the service's. */
  tenantId: string | null;
}

/** Lifetime of a token, one year. Laws require at least a month, and mail may be read late. */
const LIFE_SECONDS = 365 * 24 * 60 * 60;
/** Part of the signed text, so that a signature made for another purpose is not valid here. */
const PURPOSE = "steward unsubscribe 1";
const claims = z.tuple([z.guid(), z.string().min(1), z.int(), z.guid().nullable().default(null)]);
const keys = new WeakMap<Pool, Promise<Uint8Array>>();

/** Signs a token for the claim, valid for a year. It consists of letters, digits, `-`, `_` and one dot. */
export async function signUnsubscribe(sql: Sql, claim: UnsubscribeClaim, now: Date): Promise<string> {
  const expires = Math.floor(now.getTime() / 1000) + LIFE_SECONDS;
  const payload = Buffer.from(JSON.stringify([claim.userId, claim.category, expires, claim.tenantId]))
    .toString("base64url");
  return `${payload}.${signature(await keyOf(sql), payload).toString("base64url")}`;
}

/** The claim of a token, or null if it is forged, malformed or expired. */
export async function readUnsubscribe(sql: Sql, token: string, now: Date): Promise<UnsubscribeClaim | null> {
  const [payload = "", signed = "", ...rest] = token.split(".");
  const given = Buffer.from(signed, "base64url");
  const expected = signature(await keyOf(sql), payload);
  if (rest.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  const [userId, category, expires, tenantId] = claims.parse(
    JSON.parse(Buffer.from(payload, "base64url").toString()),
  );
  return expires * 1000 > now.getTime() ? { userId, category, tenantId } : null;
}

const signature = (key: Uint8Array, payload: string): Buffer =>
  createHmac("sha256", key).update(`${PURPOSE}.${payload}`).digest();

/** The signing key that all instances share. It never changes, so each process reads it once. */
function keyOf(sql: Sql): Promise<Uint8Array> {
  const pool = mainPool(sql);
  let key = keys.get(pool);
  if (!key) {
    key = readKey(pool);
    keys.set(pool, key);
    key.catch(() => keys.delete(pool));
  }
  return key;
}

async function readKey(sql: Sql): Promise<Uint8Array> {
  const [row] = await sql<{ secret: Uint8Array }[]>`select secret from notification_link_key`;
  if (!row) throw new Error("the signing key of unsubscribe links is missing in the database");
  return row.secret;
}
