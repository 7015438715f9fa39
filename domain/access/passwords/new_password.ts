import { ACCEPTED_HASHES, hashPassword, isAcceptedHash } from "../../../infra/passwords.ts";
import { invalid } from "../../problems/problem.ts";
import { type PasswordOwner, type PasswordPlatform, requireGoodPassword } from "./password_rules.ts";

/**
 * Returns the hash to store for a new user: a given hash unchanged, or the hash of a plain-text password.
 * @throws VALIDATION_ERROR
 */
export async function storedPassword(
  p: PasswordPlatform,
  o: { password: string; isPasswordEncrypted: boolean; owner: PasswordOwner },
): Promise<string> {
  if (!o.isPasswordEncrypted) {
    await requireGoodPassword(p, o.password, o.owner);
    return await hashPassword(o.password);
  }
  if (isAcceptedHash(o.password)) return o.password;
  throw invalid({ password: [`isPasswordEncrypted is true; expected ${ACCEPTED_HASHES}`] });
}
