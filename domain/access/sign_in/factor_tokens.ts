import {
  answeredChallenge,
  type PasskeyRequest,
  passkeyRequest,
  type RelyingParty,
  relyingParty,
} from "../../../infra/passkeys.ts";
import type { Sql, Tx } from "../../../infra/postgres/postgres.ts";
import { type Problem, problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import { digest, newSecret } from "../../shared/secrets.ts";
import type { Amr, SessionProvider, WantedTenant } from "./sessions.ts";

const TOKEN_MINUTES = 5;

export const FACTOR_KINDS = ["totp", "passkey", "recoveryCode"] as const;
type FactorKind = typeof FACTOR_KINDS[number];

/** How a user can finish a sign-in. */
export interface FactorChoice {
  factors: FactorKind[];
  /** For `navigator.credentials.get`; null if the user has no passkey. */
  passkeyOptions: PasskeyRequest | null;
}

/** A sign-in that lacks its second factor. */
export interface HalfSignIn extends WantedTenant {
  userId: string;
  /** How the user passed the first step. */
  amr: Amr[];
  /** The tenant's provider that was the first step; null: another first step. */
  provider: SessionProvider | null;
}

/** A sign-in whose first step succeeded and that needs a second factor, with the token to finish it. */
export interface FactorNeeded extends FactorChoice {
  factorToken: string;
}

/** Stores a sign-in that lacks its second factor. Its token works once and for five minutes. */
export async function askForFactor(
  p: Pick<Platform, "baseUrl">,
  tx: Tx,
  { userId, tenantId, global, amr, provider }: HalfSignIn,
): Promise<FactorNeeded> {
  const factorToken = newSecret();
  await tx`insert into factor_tokens (token_hash, user_id, tenant_id, is_global, amr, provider_id, expires_at)
    values (${digest(factorToken)}, ${userId}, ${provider?.tenantId ?? tenantId}, ${global}, ${amr},
      ${provider?.id ?? null},
      now() + make_interval(mins => ${TOKEN_MINUTES}))`;
  return { factorToken, ...await factorChoice(p, tx, userId) };
}

/** The kinds of factors that a user has, and a new challenge for their passkeys. */
export async function factorChoice(
  p: Pick<Platform, "baseUrl">,
  q: Sql,
  userId: string,
): Promise<FactorChoice> {
  const kinds = await q<{ kind: FactorKind }[]>`
    select distinct kind from user_factors where user_id = ${userId} and confirmed_at is not null
    union all select 'recoveryCode' where exists (select from recovery_codes where user_id = ${userId})`;
  const has = new Set(kinds.map(({ kind }) => kind));
  if (!relyingParty(p.baseUrl())) has.delete("passkey");
  return {
    factors: FACTOR_KINDS.filter((kind) => has.has(kind)),
    passkeyOptions: has.has("passkey") ? await proofRequest(p, q, userId) : null,
  };
}

/** The problem that asks for the second factor. Its document has the members of `needed`. */
export const factorRequired = (needed: FactorNeeded): Problem =>
  problem(
    "SECOND_FACTOR_REQUIRED_UNAUTHORIZED",
    "The sign-in needs a second factor. Send the factorToken with a code, a recovery code or a passkey to " +
      "POST /api/v1/auth/login/factor.",
    { members: { ...needed } },
  );

/** The sign-in of a factor token. @throws FACTOR_TOKEN_INVALID_UNAUTHORIZED */
export async function readFactorToken(q: Sql, factorToken: string): Promise<HalfSignIn> {
  const [found] = await q<(Omit<HalfSignIn, "provider"> & { providerId: string | null })[]>`
    select user_id, tenant_id, is_global as global, amr, provider_id from factor_tokens
    where token_hash = ${digest(factorToken)} and expires_at > now()`;
  if (found) {
    const { providerId: id, ...half } = found;
    // a sign-in by a provider is for its tenant
    return { ...half, provider: id && half.tenantId ? { id, tenantId: half.tenantId } : null };
  }
  throw problem(
    "FACTOR_TOKEN_INVALID_UNAUTHORIZED",
    `The sign-in cannot be finished: the factorToken is unknown, was already used, or is older than ${TOKEN_MINUTES} minutes.`,
  );
}

/** Deletes a factor token, because it was used. */
export async function deleteFactorToken(tx: Tx, factorToken: string): Promise<void> {
  await tx`delete from factor_tokens where token_hash = ${digest(factorToken)}`;
}

const CHALLENGE_MINUTES = 5;

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
    values (${digest(challenge)}, ${purpose}, ${userId},
      now() + make_interval(mins => ${CHALLENGE_MINUTES}))`;
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
async function proofRequest(
  p: Pick<Platform, "baseUrl">,
  q: Sql,
  userId: string,
): Promise<PasskeyRequest | null> {
  const known = await readPasskeys(q, userId);
  if (known.length === 0) return null;
  const challenge = await newChallenge(q, { purpose: "prove", userId });
  return await passkeyRequest({ site: passkeySite(p), challenge, known });
}

/** The passkeys of a user, as a browser has to know them. */
export const readPasskeys = async (
  q: Sql,
  userId: string,
): Promise<{ credentialId: Uint8Array; transports: string[] }[]> => [
  ...await q<{ credentialId: Uint8Array; transports: string[] }[]>`
    select credential_id, transports from user_factors where user_id = ${userId} and kind = 'passkey'`,
];

/** The WebAuthn options with which the browser signs in by any passkey of this site. */
export async function signInRequest(p: Pick<Platform, "sql" | "baseUrl">): Promise<PasskeyRequest> {
  const site = passkeySite(p);
  const challenge = await newChallenge(p.sql, { purpose: "sign-in", userId: null });
  return await passkeyRequest({ site, challenge, known: [] });
}
