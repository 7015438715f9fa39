import { z } from "zod";
import {
  type NewPasskeyAnswer,
  type NewPasskeyRequest,
  newPasskeyRequest,
  PasskeyRefused,
  type StoredPasskey,
  verifyNewPasskey,
} from "../../../infra/passkeys.ts";
import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { readPageLooks } from "../../looks/looks.ts";
import { invalid, problem } from "../../problems/problem.ts";
import { type Caller, isProgram } from "../../rights/caller.ts";
import { requireStepUp } from "../../rights/checks.ts";
import { userHasFactor } from "../../rights/second_factor.ts";
import { fullName } from "../../rights/user_lookup.ts";
import { newId } from "../../shared/ids.ts";
import { countRows } from "../../shared/lists.ts";
import { time } from "../../shared/shapes.ts";
import { mailOwner } from "../account/owner_mail.ts";
import type { AccessPlatform } from "../platform.ts";
import { newChallenge, passkeySite, readPasskeys, takeChallenge } from "../sign_in/factor_tokens.ts";
import { clearWrongCodes } from "../sign_in/failed_sign_ins.ts";
import { type Amr, endSessions } from "../sign_in/sessions.ts";
import { lockChangeableUser, lockExistingUser } from "../users/user_details.ts";
import {
  acceptStep,
  decryptSecret,
  describeTotp,
  type FactorProof,
  factorSecrets,
  matchingStep,
  newTotpSecret,
  PROOFS,
  proveFactor,
  replaceRecoveryCodes,
  requireOneProof,
} from "./prove.ts";
import { lockProvedUser, lowerSessions, raiseSession, refuseProof } from "./step_up.ts";

/** The mail to the owner about each change of second factors. */
const MAILS = {
  "add-factor": "factor-added",
  "remove-factor": "factor-removed",
  "renew-recovery-codes": "recovery-codes-renewed",
  "remove-factors": "factors-removed",
} as const;
/** Writes the audit row of a change of a user's factors and tells the owner of the account. */
async function recordFactorChange(
  p: AccessPlatform,
  tx: Tx,
  caller: Caller,
  o: { userId: string; change: keyof typeof MAILS; before?: unknown; after?: unknown },
): Promise<void> {
  const { userId, change, before, after } = o;
  await recordAudit(tx, caller, `user.${change}`, userId, { before, after });
  await mailOwner(p, tx, { userId, kind: MAILS[change] });
}

/** A second factor, as shown to its owner. */
export const Factor = z.object({
  id: z.guid(),
  kind: z.enum(["totp", "passkey"]),
  name: z.string(),
  createdAt: time,
  confirmedAt: time.nullable().describe("null: waits for its first code and does not count yet"),
  lastUsedAt: time.nullable(),
}).meta({ id: "FactorDto" });
export type Factor = z.output<typeof Factor>;

/** The second factors of the caller. */
export const OwnFactors = z.object({
  factors: z.array(Factor),
  recoveryCodesLeft: z.int(),
  isLimited: z.boolean().describe(
    "True: a second factor is required and the session lacks it. It is good only for adding one",
  ),
}).meta({ id: "OwnFactorsDto" });
export type OwnFactors = z.output<typeof OwnFactors>;

const factorColumns = (q: Sql) => q`id, kind, name, created_at, confirmed_at, last_used_at`;

/** Lists the caller's factors, oldest first. */
export async function listOwnFactors(q: Sql, { userId, proof }: Caller): Promise<OwnFactors> {
  const factors = await q<Factor[]>`
    select ${factorColumns(q)} from user_factors where user_id = ${userId} order by created_at, id`;
  const recoveryCodesLeft = await countRows(q, q`recovery_codes where user_id = ${userId}`);
  return { factors: [...factors], recoveryCodesLeft, isLimited: proof?.isLimited ?? false };
}

const MAX_PASSKEYS = 20;

/**
 * Prepares an authenticator app for the caller, which counts once its first code is confirmed. It replaces an earlier one
 * that was not confirmed.
 * @throws FACTOR_ALREADY_EXISTS, FACTOR_UNAVAILABLE
 */
export async function startTotp(
  p: AccessPlatform,
  caller: Caller,
): Promise<{ factorId: string } & ReturnType<typeof describeTotp>> {
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
  const known = await readPasskeys(tx, userId);
  if (known.length < MAX_PASSKEYS) return known;
  throw problem(
    "FACTOR_LIMIT_CONFLICT",
    `The user has ${known.length} passkeys; at most ${MAX_PASSKEYS} are allowed. Remove one first.`,
  );
}

/**
 * Adds a passkey to the caller's factors. The session counts as signed in with two factors then.
 * @returns `recoveryCodes`: null if the user already has some
 * @throws VALIDATION_ERROR (the passkey), FACTOR_LIMIT_CONFLICT, FACTOR_ALREADY_EXISTS, FACTOR_UNAVAILABLE
 */
export async function addPasskey(
  p: AccessPlatform,
  caller: Caller,
  o: { name: string; passkey: NewPasskeyAnswer },
): Promise<{ factor: Factor; recoveryCodes: string[] | null }> {
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
const factorNotFound = (id: string, expected: string) =>
  problem("FACTOR_NOT_FOUND", `The caller has no ${expected} with the id ${id}.`);

/**
 * Removes one of the caller's factors, with a proof by a factor in `proof` or in the last minutes of the session. With the
 * last one, the recovery codes go too.
 * @throws FACTOR_NOT_FOUND, STEP_UP_REQUIRED_FORBIDDEN, VALIDATION_ERROR, ACCOUNT_LOCKED_UNAUTHORIZED, FACTOR_UNAVAILABLE
 */
export async function removeFactor(
  p: AccessPlatform,
  caller: Caller,
  factorId: string,
  proof: FactorProof,
): Promise<void> {
  const { userId } = caller;
  const [existing] = await p.sql`select from user_factors where id = ${factorId} and user_id = ${userId}`;
  if (!existing) throw factorNotFound(factorId, "factor");
  const isProofSent = PROOFS.some((name) => proof[name] !== undefined);
  if (isProofSent) requireOneProof(proof);
  const removed = await transact(p.sql, async (tx) => {
    if (!isProofSent) await lockProvedUser(p, tx, caller);
    else {
      await lockExistingUser(tx, userId);
      if (!await proveFactor(p, tx, userId, proof)) return false;
    }
    const [factor] = await tx<{ kind: string; isConfirmed: boolean }[]>`
      delete from user_factors where id = ${factorId} and user_id = ${userId}
      returning kind, confirmed_at is not null as is_confirmed`;
    if (!factor) throw factorNotFound(factorId, "factor");
    if (!factor.isConfirmed) return true; // it never counted
    if (!await userHasFactor(tx, userId)) {
      await tx`delete from recovery_codes where user_id = ${userId}`;
      await lowerSessions(p, tx, userId);
    }
    const before = { kind: factor.kind, factorId };
    await recordFactorChange(p, tx, caller, { userId, change: "remove-factor", before });
    return true;
  });
  if (!removed) refuseProof(proof);
}

/**
 * Replaces the caller's recovery codes.
 * @returns the new ones, shown only now.
 * @throws FACTOR_NOT_FOUND if the caller has no factor
 */
export async function renewRecoveryCodes(p: AccessPlatform, caller: Caller): Promise<string[]> {
  const { userId } = caller;
  return await transact(p.sql, async (tx) => {
    await lockProvedUser(p, tx, caller);
    if (!await userHasFactor(tx, userId)) throw factorNotFound("(any)", "second factor");
    const codes = await replaceRecoveryCodes(tx, userId);
    await recordFactorChange(p, tx, caller, { userId, change: "renew-recovery-codes" });
    return codes;
  });
}

/**
 * Removes all factors and recovery codes of a user who lost them. A lost device may still be signed in, so the user's
 * sessions end too.
 * @param within the tenant of the user; null: any user
 * @returns how many factors were removed
 * @throws FORBIDDEN, STEP_UP_REQUIRED_FORBIDDEN as `requireProofForOwn`
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION (the user has platform reach that the caller lacks)
 */
export async function removeUserFactors(
  p: AccessPlatform,
  caller: Caller,
  userId: string,
  within: string | null,
): Promise<number> {
  if (caller.userId === userId) requireProofForOwn(caller);
  return await transact(p.sql, async (tx) => {
    await lockChangeableUser(tx, caller, userId, within);
    const removed = await tx`delete from user_factors where user_id = ${userId}`;
    await tx`delete from recovery_codes where user_id = ${userId}`;
    await clearWrongCodes(tx, userId);
    if (removed.count === 0) return 0;
    await endSessions(p, tx, { userId, reason: "second factors removed by an administrator" });
    const before = { factors: removed.count };
    const actor = { ...caller, tenantId: within };
    await recordFactorChange(p, tx, actor, { userId, change: "remove-factors", before });
    return removed.count;
  });
}

/** One's own factors are removed only with a proof by one of them, which no program can give. */
function requireProofForOwn(caller: Caller): void {
  if (isProgram(caller)) {
    throw problem("FORBIDDEN", "An API key cannot remove the second factors of the user whom it acts for.");
  }
  requireStepUp(caller);
}
