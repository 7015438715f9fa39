import { hashPassword } from "../../infra/passwords.ts";
import { invalid } from "../problems/problem.ts";

const SHORTEST = 10;
const LONGEST = 128;

/** Costs a foreign hash may ask for; a dearer one would make each sign-in of its user an attack on the service. */
const MOST_ARGON2 = { memoryKiB: 262_144, passes: 20, lanes: 16 };
const MOST_BCRYPT_COST = 15;

const ARGON2 =
  /^\$argon2(?:id|i|d)\$(?:v=(?:16|19)\$)?m=([1-9]\d{0,6}),t=([1-9]\d{0,2}),p=([1-9]\d{0,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{16,86})$/;
const BCRYPT = /^\$2[abxy]\$(\d\d)\$[./A-Za-z0-9]{53}$/;

/**
 * Holds a plain password to the rules: 10 to 128 characters, and not the email.
 * @throws VALIDATION_ERROR on `field`
 */
export function requireGoodPassword(password: string, email: string, field = "password"): void {
  const length = [...password].length;
  if (length < SHORTEST || length > LONGEST) {
    throw invalid({ [field]: [`expected ${SHORTEST} to ${LONGEST} characters, found ${length}`] });
  }
  if (password.trim().toLowerCase() === email.trim().toLowerCase()) {
    throw invalid({ [field]: ["must not be the email"] });
  }
}

/** Is `hash` an argon2 or bcrypt hash, in the form and at a cost this service verifies? */
export function isForeignHash(hash: string): boolean {
  const bcrypt = BCRYPT.exec(hash);
  if (bcrypt) return Number(bcrypt[1]) >= 4 && Number(bcrypt[1]) <= MOST_BCRYPT_COST;
  const argon2 = ARGON2.exec(hash);
  if (!argon2) return false;
  const [memoryKiB = 0, passes = 0, lanes = 0] = argon2.slice(1, 4).map(Number);
  return memoryKiB >= 8 * lanes && memoryKiB <= MOST_ARGON2.memoryKiB && passes <= MOST_ARGON2.passes &&
    lanes <= MOST_ARGON2.lanes && argon2.slice(4).every(isBase64);
}

/** Is `text` what some bytes come to in base64 without padding? What is not, no sign-in could ever verify. */
function isBase64(text: string): boolean {
  return text.length % 4 !== 1 && btoa(atob(text)).replace(/=+$/, "") === text;
}

/**
 * What to store for a new user's password: a hash made elsewhere as given, a plain password hashed.
 * @throws VALIDATION_ERROR
 */
export async function storedPassword(
  o: { password: string; isPasswordEncrypted: boolean; email: string },
): Promise<string> {
  if (!o.isPasswordEncrypted) {
    requireGoodPassword(o.password, o.email);
    return await hashPassword(o.password);
  }
  if (isForeignHash(o.password)) return o.password;
  throw invalid({
    password: [
      "isPasswordEncrypted is true; expected a PHC or crypt hash of argon2 or bcrypt (argon2 up to 256 MiB and 20 passes, bcrypt up to cost 15)",
    ],
  });
}
