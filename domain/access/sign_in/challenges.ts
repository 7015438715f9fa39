import {
  answeredChallenge,
  type PasskeyRequest,
  passkeyRequest,
  type RelyingParty,
  relyingParty,
} from "../../../infra/passkeys.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import { digest, newSecret } from "../../shared/secrets.ts";

const LIFE_MINUTES = 5;

/** The purpose of a challenge: to sign in by passkey alone, to prove a known user, or to add a passkey. */
export type ChallengeUse =
  | { purpose: "sign-in"; userId: null }
  | { purpose: "prove" | "add"; userId: string };

/** The site of the passkeys. Throws FACTOR_UNAVAILABLE if PUBLIC_URL has an IP address. */
export function passkeySite({ baseUrl }: Pick<Platform, "baseUrl">): RelyingParty {
  const site = relyingParty(baseUrl());
  if (site) return site;
  throw problem(
    "FACTOR_UNAVAILABLE",
    "Passkeys need a PUBLIC_URL with a host name; browsers refuse IP addresses.",
  );
}

/** A new challenge for the answer of a passkey, valid once and for five minutes. */
export async function newChallenge(q: Sql, { purpose, userId }: ChallengeUse): Promise<string> {
  const challenge = newSecret();
  await q`insert into passkey_challenges (challenge_hash, purpose, user_id, expires_at)
    values (${digest(challenge)}, ${purpose}, ${userId}, now() + make_interval(mins => ${LIFE_MINUTES}))`;
  return challenge;
}

/**
 * Deletes and returns the challenge of an answer, so that it works once.
 * @returns null if it is unknown, expired, or was made for something else or another user
 */
export async function takeChallenge(
  q: Sql,
  answer: { response: { clientDataJSON: string } },
  { purpose, userId }: ChallengeUse,
): Promise<string | null> {
  const challenge = answeredChallenge(answer);
  const taken = await q`delete from passkey_challenges
    where challenge_hash = ${digest(challenge)} and purpose = ${purpose}
      and user_id is not distinct from ${userId} and expires_at > now()`;
  return taken.count > 0 ? challenge : null;
}

/** The WebAuthn options with which the browser answers by one of the user's passkeys; null if the user has none. */
export async function proofRequest(
  p: Pick<Platform, "baseUrl">,
  q: Sql,
  userId: string,
): Promise<PasskeyRequest | null> {
  const known = await q<{ credentialId: Uint8Array; transports: string[] }[]>`
    select credential_id, transports from user_factors where user_id = ${userId} and kind = 'passkey'`;
  if (known.length === 0) return null;
  const challenge = await newChallenge(q, { purpose: "prove", userId });
  return await passkeyRequest({ site: passkeySite(p), challenge, known: [...known] });
}

/** The WebAuthn options with which the browser signs in by any passkey of this site. */
export async function signInRequest(p: Pick<Platform, "sql" | "baseUrl">): Promise<PasskeyRequest> {
  const site = passkeySite(p);
  const challenge = await newChallenge(p.sql, { purpose: "sign-in", userId: null });
  return await passkeyRequest({ site, challenge, known: [] });
}
