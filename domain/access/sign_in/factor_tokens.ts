import { type PasskeyRequest, relyingParty } from "../../../infra/passkeys.ts";
import type { Sql, Tx } from "../../../infra/postgres/postgres.ts";
import { type Problem, problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import { digest, newSecret } from "../../shared/secrets.ts";
import type { Amr, SessionProvider, WantedTenant } from "./sessions.ts";
import { proofRequest } from "./challenges.ts";

const LIFE_MINUTES = 5;

export const FACTOR_KINDS = ["totp", "passkey", "recoveryCode"] as const;
export type FactorKind = typeof FACTOR_KINDS[number];

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
      now() + make_interval(mins => ${LIFE_MINUTES}))`;
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
    `The sign-in cannot be finished: the factorToken is unknown, was already used, or is older than ${LIFE_MINUTES} minutes.`,
  );
}

/** Deletes a factor token, because it was used. */
export async function deleteFactorToken(tx: Tx, factorToken: string): Promise<void> {
  await tx`delete from factor_tokens where token_hash = ${digest(factorToken)}`;
}
