import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { Secret, TOTP } from "otpauth";
import { createSecretBox, DecryptionFailed, type SecretBox } from "../../../infra/encryption.ts";
import {
  type PasskeyAnswer,
  PasskeyRefused,
  type StoredPasskey,
  verifyPasskey,
} from "../../../infra/passkeys.ts";
import type { Tx } from "../../../infra/postgres/postgres.ts";
import { invalid, problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import { digest } from "../../shared/secrets.ts";
import { type ChallengeUse, passkeySite, takeChallenge } from "../sign_in/factor_tokens.ts";
import { clearWrongCodes, countWrongCode, requireFactorsUnlocked } from "../sign_in/failed_sign_ins.ts";
import type { Amr } from "../sign_in/sessions.ts";
import { lockUser } from "../users/user_details.ts";

/** A proof of a second factor, as a user sends it: exactly one of these members. */
export interface FactorProof {
  /** The code that an authenticator app shows. */
  code?: string | undefined;
  recoveryCode?: string | undefined;
  passkey?: PasskeyAnswer | undefined;
}

export const PROOFS = ["code", "recoveryCode", "passkey"] as const;

/** The platform members that verify factors. */
type ProvingPlatform = Pick<Platform, "sql" | "config" | "clock" | "baseUrl" | "log">;

/** The secret box that encrypts and decrypts TOTP secrets. Throws FACTOR_UNAVAILABLE without FACTOR_KEYS. */
export function factorSecrets({ config }: Pick<Platform, "config">): SecretBox {
  if (config.FACTOR_KEYS) return createSecretBox(config.FACTOR_KEYS);
  throw problem("FACTOR_UNAVAILABLE", "Authenticator apps are off: the service has no FACTOR_KEYS.");
}

/** Checks that a proof has exactly one member. @throws VALIDATION_ERROR */
export function requireOneProof(proof: FactorProof): void {
  const given = PROOFS.filter((name) => proof[name] !== undefined);
  if (given.length === 1) return;
  const found = given.length === 0 ? "none" : given.join(" and ");
  throw invalid({ [given[0] ?? "code"]: [`expected exactly one of ${PROOFS.join(", ")}; found ${found}`] });
}

/**
 * Verifies a second factor of a user, whose row must be locked in this transaction. Wrong codes count towards a lockout.
 * So the caller must commit also after a wrong code.
 * @returns the authentication methods that the proof adds to the session; null if the proof is wrong
 * @throws ACCOUNT_LOCKED_UNAUTHORIZED (for codes), FACTOR_UNAVAILABLE
 */
export async function proveFactor(
  p: ProvingPlatform,
  tx: Tx,
  userId: string,
  { code, recoveryCode, passkey }: FactorProof,
): Promise<Amr[] | null> {
  if (passkey) return (await provePasskey(p, tx, passkey, { purpose: "prove", userId }))?.amr ?? null;
  await requireFactorsUnlocked(tx, userId);
  const isRight = code === undefined
    ? await takeRecoveryCode(tx, userId, recoveryCode ?? "")
    : await useTotpCode(p, tx, userId, code);
  if (isRight) await clearWrongCodes(tx, userId);
  else await countWrongCode(tx, userId);
  return isRight ? ["otp", "mfa"] : null;
}

/** Verifies and uses up a code of the user's authenticator app. A code of the last accepted time step or before is wrong. */
async function useTotpCode(p: ProvingPlatform, tx: Tx, userId: string, code: string): Promise<boolean> {
  const [totp] = await tx<{ id: string; secret: string }[]>`
    select id, secret from user_factors where user_id = ${userId} and kind = 'totp' and confirmed_at is not null`;
  if (!totp) return false;
  const step = matchingStep(decryptSecret(p, totp), code, p.clock.now());
  return step !== null && await acceptStep(tx, totp.id, step);
}

/** Decrypts the secret of a TOTP factor. Throws FACTOR_UNAVAILABLE. */
export function decryptSecret(
  p: Pick<Platform, "config" | "log">,
  { id, secret }: { id: string; secret: string },
): Uint8Array {
  try {
    return factorSecrets(p).decrypt(secret, id);
  } catch (error) {
    if (!(error instanceof DecryptionFailed)) throw error;
    p.log.error("the secret of an authenticator app cannot be decrypted", {
      factorId: id,
      reason: error.message,
    });
    throw problem(
      "FACTOR_UNAVAILABLE",
      "The authenticator app cannot be used: its secret cannot be decrypted. Use a passkey or a recovery code.",
    );
  }
}

/** Records a time step as used. @returns false if it or a later one already was */
export async function acceptStep(tx: Tx, factorId: string, step: number): Promise<boolean> {
  const accepted = await tx`update user_factors set last_step = ${step}, last_used_at = now()
    where id = ${factorId} and (last_step is null or last_step < ${step})`;
  return accepted.count > 0;
}

/**
 * Verifies the answer of a passkey. It uses up the challenge, also if the answer is wrong.
 * @param use with `userId` null, the passkey may be any user's
 * @returns null if the answer is wrong, the passkey is unknown, or it is another user's
 */
export async function provePasskey(
  p: ProvingPlatform,
  tx: Tx,
  answer: PasskeyAnswer,
  use: ChallengeUse,
): Promise<{ userId: string; amr: Amr[] } | null> {
  const site = passkeySite(p);
  const challenge = await takeChallenge(tx, answer, use);
  if (challenge === null) return null;
  const credentialId = Buffer.from(answer.id, "base64url");
  const [owner] = await tx<{ userId: string }[]>`
    select user_id from user_factors where credential_id = ${credentialId}`;
  if (!owner || use.userId !== null && owner.userId !== use.userId) return null;
  await lockUser(tx, owner.userId); // every change of factors locks the user first
  const [stored] = await tx<(StoredPasskey & { id: string; userId: string; isSynced: boolean })[]>`
    select id, user_id, credential_id, public_key, sign_count, is_synced from user_factors
    where credential_id = ${credentialId}`;
  if (!stored) return null;
  try {
    const signCount = await verifyPasskey(answer, { site, challenge, stored });
    await tx`update user_factors set sign_count = ${signCount}, last_used_at = now() where id = ${stored.id}`;
  } catch (error) {
    if (!(error instanceof PasskeyRefused)) throw error;
    p.log.warn("the answer of a passkey was refused", { factorId: stored.id, reason: error.message });
    return null;
  }
  return { userId: stored.userId, amr: [stored.isSynced ? "swk" : "hwk", "user", "mfa"] };
}

const SECRET_BYTES = 20;
const STEP_SECONDS = 30;
/** Codes of this many steps before and after the current one are accepted. */
const WINDOW = 1;

const generator = (secret: Uint8Array, issuer = "", label = "") =>
  new TOTP({
    issuer,
    label,
    secret: new Secret({ buffer: new Uint8Array(secret).buffer }),
    digits: 6,
    period: STEP_SECONDS,
    algorithm: "SHA1", // what every authenticator app supports
  });

/** A new secret for an authenticator app. */
export const newTotpSecret = (): Uint8Array => crypto.getRandomValues(new Uint8Array(SECRET_BYTES));

/** The secret in base32, and the URL of the QR code. @param issuer the name that the authenticator app shows */
export function describeTotp(
  secret: Uint8Array,
  { issuer, email }: { issuer: string; email: string },
): { secret: string; otpauthUrl: string } {
  const totp = generator(secret, issuer, email);
  return { secret: totp.secret.base32, otpauthUrl: totp.toString() };
}

/** The time step whose code this is, among those accepted at `now`; null if the code is wrong. */
export function matchingStep(secret: Uint8Array, code: string, now: Date): number | null {
  const timestamp = now.getTime();
  const delta = generator(secret).validate({ token: code, timestamp, window: WINDOW });
  return delta === null ? null : Math.floor(timestamp / 1000 / STEP_SECONDS) + delta;
}

const COUNT = 10;
/** Without letters and digits that look alike. 32 characters, so that each has five bits. */
const ALPHABET = "abcdefghjkmnpqrstuvwxyz023456789";
const GROUPS = 6;
const GROUP_LENGTH = 4;

/** 120 random bits, which cannot be guessed, so a hash without salt is enough. */
function newCode(): string {
  const characters = [...randomBytes(GROUPS * GROUP_LENGTH)].map((byte) => ALPHABET[byte % ALPHABET.length]);
  return Array.from(
    { length: GROUPS },
    (_, group) => characters.slice(group * GROUP_LENGTH, (group + 1) * GROUP_LENGTH).join(""),
  ).join("-");
}

/** Hyphens, spaces and letter case do not matter. */
const hashOf = (code: string) => digest(code.toLowerCase().replaceAll(/[\s-]/g, ""));

/** Replaces the recovery codes of a user. The codes are stored as hashes and shown only now. */
export async function replaceRecoveryCodes(tx: Tx, userId: string): Promise<string[]> {
  const codes = Array.from({ length: COUNT }, newCode);
  const hashes = codes.map((code) => hashOf(code).toString("hex"));
  await tx`delete from recovery_codes where user_id = ${userId}`;
  await tx`insert into recovery_codes (user_id, code_hash)
    select ${userId}, decode(hash, 'hex') from unnest(${hashes}::text[]) hash`;
  return codes;
}

/** Uses up a recovery code. @returns false if it is unknown or was already used */
async function takeRecoveryCode(tx: Tx, userId: string, code: string): Promise<boolean> {
  const taken = await tx`delete from recovery_codes
    where user_id = ${userId} and code_hash = ${hashOf(code)}`;
  return taken.count > 0;
}
