import { randomBytes } from "node:crypto";
import type { Tx } from "../../../infra/postgres/postgres.ts";
import { digest } from "../../shared/secrets.ts";

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
export async function takeRecoveryCode(tx: Tx, userId: string, code: string): Promise<boolean> {
  const taken = await tx`delete from recovery_codes where user_id = ${userId} and code_hash = ${
    hashOf(code)
  }`;
  return taken.count > 0;
}
