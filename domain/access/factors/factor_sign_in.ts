import type { PasskeyAnswer } from "../../../infra/passkeys.ts";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { type Problem, problem } from "../../problems/problem.ts";
import type { AccessPlatform } from "../platform.ts";
import { addressKey } from "../sign_in/address.ts";
import {
  clearFailedSignIns,
  countFailedSignIn,
  requireAddressBelowLimit,
} from "../sign_in/failed_sign_ins.ts";
import { knownDevice } from "../sign_in/known_devices.ts";
import { type Amr, chooseTenant, openSession, type WantedTenant } from "../sign_in/sessions.ts";
import type { Origin, SignedIn } from "../sign_in/sign_in.ts";
import { lockUser } from "../users/user_details.ts";
import {
  deleteFactorToken,
  type FactorChoice,
  factorChoice,
  type HalfSignIn,
  readFactorToken,
} from "../sign_in/factor_tokens.ts";
import { type FactorProof, proveFactor, provePasskey, requireOneProof } from "./prove.ts";

/**
 * Finishes a sign-in with a second factor. The factor token stays valid after a wrong proof and is used up by a right one.
 * @throws VALIDATION_ERROR, FACTOR_TOKEN_INVALID_UNAUTHORIZED, SECOND_FACTOR_INVALID_UNAUTHORIZED,
 * ACCOUNT_LOCKED_UNAUTHORIZED, RATE_LIMITED, TENANT_FORBIDDEN, FACTOR_UNAVAILABLE
 */
export async function finishSignIn(
  p: AccessPlatform,
  o: { factorToken: string; proof: FactorProof; origin: Origin },
): Promise<SignedIn> {
  requireOneProof(o.proof);
  return await signInBy(p, o.origin, async (tx) => {
    const { userId } = await readFactorToken(tx, o.factorToken);
    await lockUser(tx, userId); // attempts for one user run one after the other
    const half = await readFactorToken(tx, o.factorToken); // another request may have used it up
    const proved = await proveFactor(p, tx, userId, o.proof);
    if (!proved) return null;
    await deleteFactorToken(tx, o.factorToken);
    if (half.provider === null) {
      const [device] = await tx<{ id: string }[]>`
        ${knownDevice(tx, tx`${userId}::uuid`, o.origin.deviceToken ?? null)}`;
      await clearFailedSignIns(tx, userId, device?.id ?? null);
    }
    return { ...half, amr: [...new Set([...half.amr, ...proved])] };
  });
}

/**
 * Signs in by a passkey alone. It counts as two factors, because it also verifies the user. A lockout after wrong
 * passwords does not stop it: a passkey cannot be guessed, and strangers must not be able to keep its owner out.
 * @throws SECOND_FACTOR_INVALID_UNAUTHORIZED, RATE_LIMITED, TENANT_FORBIDDEN, FACTOR_UNAVAILABLE
 */
export async function signInByPasskey(
  p: AccessPlatform,
  o: WantedTenant & { passkey: PasskeyAnswer; origin: Origin },
): Promise<SignedIn> {
  return await signInBy(p, o.origin, async (tx) => {
    const holder = await provePasskey(p, tx, o.passkey, { purpose: "sign-in", userId: null });
    return holder && { ...holder, tenantId: o.tenantId, global: o.global, provider: null };
  });
}

/** Reads by which factors the holder of a factor token can finish the sign-in, with a new passkey challenge. */
export async function readFactorChoice(p: AccessPlatform, factorToken: string): Promise<FactorChoice> {
  const { userId } = await readFactorToken(p.sql, factorToken);
  return await factorChoice(p, p.sql, userId);
}

/** Opens a session for the user that `prove` returns. If it returns null, counts a failed sign-in of the address. */
async function signInBy(
  p: AccessPlatform,
  origin: Origin,
  prove: (tx: Tx) => Promise<HalfSignIn | null>,
): Promise<SignedIn> {
  const address = addressKey(origin.ip);
  await requireAddressBelowLimit(p.sql, address);
  const signedIn = await transact(p.sql, async (tx) => {
    const proved = await prove(tx);
    return proved && await openProved(p, tx, proved, origin);
  });
  if (signedIn) return signedIn;
  await countFailedSignIn(p, { address, tried: null });
  throw wrongFactor();
}

/** Opens the session. Returns null if the user is deactivated or deleted. */
async function openProved(
  p: AccessPlatform,
  tx: Tx,
  { userId, amr, provider, ...wanted }: HalfSignIn & { amr: Amr[] },
  { ip, userAgent, deviceToken = null }: Origin,
): Promise<SignedIn | null> {
  const [user] = await tx<{ id: string }[]>`
    update users set last_login_at = now() where id = ${userId} and is_active and deleted_at is null
    returning id`;
  if (!user) return null;
  const tenantId = await chooseTenant(tx, userId, wanted, provider);
  const device = provider === null ? { deviceToken } : { provider };
  const tokens = await openSession(p, tx, { user, tenantId, amr, ip, userAgent, ...device });
  return { tokens, userId, tenantId, boundTo: provider && tenantId };
}

export const wrongFactor = (): Problem =>
  problem(
    "SECOND_FACTOR_INVALID_UNAUTHORIZED",
    "The code is wrong or was already used, or the passkey does not fit this sign-in.",
  );
