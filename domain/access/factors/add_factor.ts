import {
  type NewPasskeyAnswer,
  type NewPasskeyRequest,
  newPasskeyRequest,
  PasskeyRefused,
  type StoredPasskey,
  verifyNewPasskey,
} from "../../../infra/passkeys.ts";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { readPageLooks } from "../../looks/looks.ts";
import { invalid, problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import { newId } from "../../shared/ids.ts";
import type { AccessPlatform } from "../platform.ts";
import { newChallenge, passkeySite, takeChallenge } from "../sign_in/challenges.ts";
import { type Amr, endSessions } from "../sign_in/sessions.ts";
import { type Factor, factorColumns, recordFactorChange } from "./factors.ts";
import { acceptStep, decryptSecret, factorSecrets } from "./prove.ts";
import { replaceRecoveryCodes } from "./recovery_codes.ts";
import { lockProvedUser, raiseSession } from "./step_up.ts";
import { describeTotp, matchingStep, newTotpSecret } from "./totp.ts";
import { fullName } from "../../rights/user_lookup.ts";

const MAX_PASSKEYS = 20;

/** A new authenticator app, which counts once its first code is confirmed. */
export interface NewTotp {
  factorId: string;
  /** In base32. */
  secret: string;
  otpauthUrl: string;
}

/**
 * Prepares an authenticator app for the caller. It replaces an earlier one that was not confirmed.
 * @throws FACTOR_ALREADY_EXISTS, FACTOR_UNAVAILABLE
 */
export async function startTotp(p: AccessPlatform, caller: Caller): Promise<NewTotp> {
  const box = factorSecrets(p);
  const { productName: issuer } = await readPageLooks(p, caller.tenantId);
  return await transact(p.sql, async (tx) => {
    const { email } = await lockProvedUser(p, tx, caller);
    await requireNoTotp(tx, caller.userId);
    await tx`delete from user_factors
      where user_id = ${caller.userId} and kind = 'totp' and confirmed_at is null`;
    const factorId = newId();
    const secret = newTotpSecret();
    await tx`insert into user_factors (id, user_id, kind, name, secret)
      values (${factorId}, ${caller.userId}, 'totp', 'Authenticator app', ${box.encrypt(secret, factorId)})`;
    return { factorId, ...describeTotp(secret, { issuer, email }) };
  });
}

async function requireNoTotp(tx: Tx, userId: string): Promise<void> {
  const existing = await tx`select from user_factors
    where user_id = ${userId} and kind = 'totp' and confirmed_at is not null`;
  if (existing.length === 0) return;
  throw problem(
    "FACTOR_ALREADY_EXISTS",
    "The user already has an authenticator app. Remove it first with DELETE /api/v1/auth/factors/{id}.",
  );
}

/**
 * Confirms the caller's authenticator app with its first code. The session counts as signed in with two factors then.
 * @returns the new recovery codes, which replace earlier ones.
 * @throws FACTOR_NOT_FOUND, VALIDATION_ERROR (the code), FACTOR_ALREADY_EXISTS
 */
export async function confirmTotp(
  p: AccessPlatform,
  caller: Caller,
  o: { factorId: string; code: string },
): Promise<string[]> {
  return await transact(p.sql, async (tx) => {
    await lockProvedUser(p, tx, caller);
    const [totp] = await tx<{ id: string; secret: string }[]>`
      select id, secret from user_factors where id = ${o.factorId} and user_id = ${caller.userId}
        and kind = 'totp' and confirmed_at is null`;
    if (!totp) throw factorNotFound(o.factorId, "authenticator app that waits for its first code");
    const step = matchingStep(decryptSecret(p, totp), o.code, p.clock.now());
    if (step === null) throw invalid({ code: ["this is not the current code of the authenticator app"] });
    await acceptStep(tx, totp.id, step);
    await tx`update user_factors set confirmed_at = now() where id = ${totp.id}`;
    const recoveryCodes = await replaceRecoveryCodes(tx, caller.userId);
    await finishAdding(p, tx, caller, { kind: "totp", id: totp.id }, ["otp", "mfa"]);
    return recoveryCodes;
  });
}

/**
 * Returns the WebAuthn options with which the browser creates a passkey of the caller.
 * @throws FACTOR_LIMIT_CONFLICT, FACTOR_UNAVAILABLE
 */
export async function startPasskey(p: AccessPlatform, caller: Caller): Promise<NewPasskeyRequest> {
  const site = passkeySite(p);
  const { productName: siteName } = await readPageLooks(p, caller.tenantId);
  return await transact(p.sql, async (tx) => {
    const user = await lockProvedUser(p, tx, caller);
    const known = await knownPasskeys(tx, user.id);
    const challenge = await newChallenge(tx, { purpose: "add", userId: user.id });
    return await newPasskeyRequest({
      site,
      siteName,
      challenge,
      user: { ...user, name: fullName(user) ?? user.email },
      known,
    });
  });
}

async function knownPasskeys(tx: Tx, userId: string) {
  const known = await tx<{ credentialId: Uint8Array; transports: string[] }[]>`
    select credential_id, transports from user_factors where user_id = ${userId} and kind = 'passkey'`;
  if (known.length < MAX_PASSKEYS) return [...known];
  throw problem(
    "FACTOR_LIMIT_CONFLICT",
    `The user has ${known.length} passkeys; at most ${MAX_PASSKEYS} are allowed. Remove one first.`,
  );
}

/** An added passkey. */
export interface AddedPasskey {
  factor: Factor;
  /** Null if the user already has recovery codes. */
  recoveryCodes: string[] | null;
}

/**
 * Adds a passkey to the caller's factors. The session counts as signed in with two factors then.
 * @throws VALIDATION_ERROR (the passkey), FACTOR_LIMIT_CONFLICT, FACTOR_ALREADY_EXISTS, FACTOR_UNAVAILABLE
 */
export async function addPasskey(
  p: AccessPlatform,
  caller: Caller,
  o: { name: string; passkey: NewPasskeyAnswer },
): Promise<AddedPasskey> {
  const { userId } = caller;
  const passkey = await verifiedPasskey(p, userId, o.passkey);
  return await transact(p.sql, async (tx) => {
    await lockProvedUser(p, tx, caller);
    await knownPasskeys(tx, userId);
    const { credentialId, publicKey, signCount, isSynced } = passkey;
    const transports = o.passkey.response.transports ?? [];
    const [factor] = await tx<Factor[]>`
      insert into user_factors (id, user_id, kind, name, confirmed_at, credential_id, public_key, sign_count,
        transports, is_synced)
      values (${newId()}, ${userId}, 'passkey', ${o.name}, now(), ${credentialId}, ${publicKey}, ${signCount},
        ${transports}, ${isSynced})
      returning ${factorColumns(tx)}`;
    if (!factor) throw new Error("an insert returned no row");
    const codes = await tx`select from recovery_codes where user_id = ${userId} limit 1`;
    const recoveryCodes = codes.length > 0 ? null : await replaceRecoveryCodes(tx, userId);
    await finishAdding(p, tx, caller, factor, [isSynced ? "swk" : "hwk", "user", "mfa"]);
    return { factor, recoveryCodes };
  });
}

/** The challenge is used up, also by a wrong answer. */
async function verifiedPasskey(
  p: AccessPlatform,
  userId: string,
  answer: NewPasskeyAnswer,
): Promise<StoredPasskey & { isSynced: boolean }> {
  const site = passkeySite(p);
  const challenge = await takeChallenge(p.sql, answer, { purpose: "add", userId });
  if (challenge === null) {
    throw invalid({ passkey: ["its challenge is unknown, was already used, or is older than 5 minutes"] });
  }
  try {
    return await verifyNewPasskey(answer, { site, challenge });
  } catch (error) {
    if (error instanceof PasskeyRefused) throw invalid({ passkey: [error.message] });
    throw error;
  }
}

/** The first factor ends the user's other sessions, because they lack it. The caller's session has it from now on. */
async function finishAdding(
  p: AccessPlatform,
  tx: Tx,
  caller: Caller,
  { kind, id }: Pick<Factor, "kind" | "id">,
  amr: Amr[],
): Promise<void> {
  const { userId, sessionId } = caller;
  const others = await tx`select from user_factors
    where user_id = ${userId} and id <> ${id} and confirmed_at is not null limit 1`;
  if (others.length === 0) {
    await endSessions(p, tx, { userId, exceptSessionId: sessionId, reason: "first second factor added" });
  }
  const after = { kind, factorId: id };
  await recordFactorChange(p, tx, caller, { userId, change: "add-factor", after });
  await raiseSession(p, tx, caller, amr);
}

/** The error for a factor that the caller does not have. */
export const factorNotFound = (id: string, expected: string) =>
  problem("FACTOR_NOT_FOUND", `The caller has no ${expected} with the id ${id}.`);
