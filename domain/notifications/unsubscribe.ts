import { createHmac, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";
import { optOut } from "./preferences.ts";

export const UNSUBSCRIBE_PATH = "/api/v1/notifications/unsubscribe";

interface LinkPlatform extends Pick<Platform, "sql" | "clock" | "baseUrl"> {
  unsubscribeTokens: UnsubscribeTokens;
}

/** The link that unsubscribes a user from the mail of a category, without a sign-in. */
export async function unsubscribeUrl(
  p: Omit<LinkPlatform, "sql">,
  claim: UnsubscribeClaim,
): Promise<string> {
  return `${p.baseUrl()}${UNSUBSCRIBE_PATH}?token=${await p.unsubscribeTokens.sign(claim, p.clock.now())}`;
}

/** The claim of a link; null if the token is invalid or expired. It changes nothing, because mail scanners open links. */
export const readUnsubscribeLink = (
  p: Pick<LinkPlatform, "unsubscribeTokens" | "clock">,
  token: string,
): Promise<UnsubscribeClaim | null> => p.unsubscribeTokens.read(token, p.clock.now());

/** Unsubscribes the user of a link from its category. Idempotent. @throws NOTIFICATION_UNSUBSCRIBE_INVALID */
export async function unsubscribe(
  p: Omit<LinkPlatform, "baseUrl">,
  token: string,
): Promise<UnsubscribeClaim> {
  const claim = await readUnsubscribeLink(p, token);
  if (!claim) {
    throw problem(
      "NOTIFICATION_UNSUBSCRIBE_INVALID",
      "The user was not unsubscribed: the token is invalid or has expired.",
    );
  }
  await optOut(p.sql, claim.userId, claim.category, "Email");
  return claim;
}

/** The permission of an unsubscribe link: to turn off one category of one user's mail. */
interface UnsubscribeClaim {
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

/** Signs and reads the tokens of unsubscribe links. */
export class UnsubscribeTokens {
  /** The key that all instances share. It never changes, so each instance reads it once. */
  #key: Promise<Uint8Array> | undefined;

  constructor(private readonly sql: Sql) {}

  /** Signs a token for the claim, valid for a year. It consists of letters, digits, `-`, `_` and one dot. */
  async sign(claim: UnsubscribeClaim, now: Date): Promise<string> {
    const expires = Math.floor(now.getTime() / 1000) + LIFE_SECONDS;
    const payload = Buffer.from(JSON.stringify([claim.userId, claim.category, expires, claim.tenantId]))
      .toString("base64url");
    return `${payload}.${(await this.#signature(payload)).toString("base64url")}`;
  }

  /** The claim of a token, or null if it is forged, malformed or expired. */
  async read(token: string, now: Date): Promise<UnsubscribeClaim | null> {
    const [payload = "", signed = "", ...rest] = token.split(".");
    const given = Buffer.from(signed, "base64url");
    const expected = await this.#signature(payload);
    if (rest.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
    const [userId, category, expires, tenantId] = claims.parse(
      JSON.parse(Buffer.from(payload, "base64url").toString()),
    );
    return expires * 1000 > now.getTime() ? { userId, category, tenantId } : null;
  }

  async #signature(payload: string): Promise<Buffer> {
    const key = this.#key ??= this.#readKey();
    return createHmac("sha256", await key).update(`${PURPOSE}.${payload}`).digest();
  }

  async #readKey(): Promise<Uint8Array> {
    try {
      const [row] = await this.sql<{ secret: Uint8Array }[]>`select secret from notification_link_key`;
      if (!row) throw new Error("the signing key of unsubscribe links is missing in the database");
      return row.secret;
    } catch (error) {
      this.#key = undefined;
      throw error;
    }
  }
}
