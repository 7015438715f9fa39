import { hashPassword } from "../../../infra/passwords.ts";
import { invalid } from "../../problems/problem.ts";

const MIN_LENGTH = 10;
const MAX_LENGTH = 128;

/** Cost limits for imported hashes. A more expensive hash would let each sign-in of its user overload the service. */
const MAX_ARGON2 = { memoryKiB: 262_144, passes: 20, lanes: 16 };
const MAX_BCRYPT_COST = 15;

const ARGON2 =
  /^\$argon2(?:id|i|d)\$(?:v=(?:16|19)\$)?m=([1-9]\d{0,6}),t=([1-9]\d{0,2}),p=([1-9]\d{0,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{16,86})$/;
const BCRYPT = /^\$2[abxy]\$(\d\d)\$[./A-Za-z0-9]{53}$/;

/**
 * Checks the rules for a plain-text password: 10 to 128 characters, not equal to the email.
 * @throws VALIDATION_ERROR on `field`
 */
export function requireGoodPassword(password: string, email: string, field = "password"): void {
  const length = [...password].length;
  if (length < MIN_LENGTH || length > MAX_LENGTH) {
    throw invalid({ [field]: [`expected ${MIN_LENGTH} to ${MAX_LENGTH} characters, found ${length}`] });
  }
  if (password.trim().toLowerCase() === email.trim().toLowerCase()) {
    throw invalid({ [field]: ["must not be the email"] });
  }
}

/** Is `hash` an argon2 or bcrypt hash with a format and cost that this service accepts? */
export function isAcceptedHash(hash: string): boolean {
  const bcrypt = BCRYPT.exec(hash);
  if (bcrypt) return Number(bcrypt[1]) >= 4 && Number(bcrypt[1]) <= MAX_BCRYPT_COST;
  const argon2 = ARGON2.exec(hash);
  if (!argon2) return false;
  const [memoryKiB = 0, passes = 0, lanes = 0] = argon2.slice(1, 4).map(Number);
  return memoryKiB >= 8 * lanes && memoryKiB <= MAX_ARGON2.memoryKiB && passes <= MAX_ARGON2.passes &&
    lanes <= MAX_ARGON2.lanes && argon2.slice(4).every(isBase64);
}

/** Is `text` canonical base64 without padding? A hash with any other text could never be verified. */
function isBase64(text: string): boolean {
  return text.length % 4 !== 1 && btoa(atob(text)).replace(/=+$/, "") === text;
}

/**
 * Returns the hash to store for a new user: a given hash unchanged, or the hash of a plain-text password.
 * @throws VALIDATION_ERROR
 */
export async function storedPassword(
  o: { password: string; isPasswordEncrypted: boolean; email: string },
): Promise<string> {
  if (!o.isPasswordEncrypted) {
    requireGoodPassword(o.password, o.email);
    return await hashPassword(o.password);
  }
  if (isAcceptedHash(o.password)) return o.password;
  throw invalid({
    password: [
      "isPasswordEncrypted is true; expected a PHC or crypt hash of argon2 or bcrypt (argon2 up to 256 MiB and 20 passes, bcrypt up to cost 15)",
    ],
  });
}
