import type { Config } from "../../../infra/config.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { invalid } from "../../problems/problem.ts";
import { isBreached } from "./breached_passwords.ts";
import { isCommon } from "./common_passwords.ts";
import { isMadeOfOwnWords, type PasswordOwner } from "./own_words.ts";

export type { PasswordOwner } from "./own_words.ts";

export const PASSWORD_LENGTH = { min: 12, max: 128 };

/** The platform members that the rules use. */
export interface PasswordPlatform {
  config: Pick<Config, "BREACHED_PASSWORDS">;
}

/**
 * Checks the rules of README.md for a password that is being chosen, on any route. They do not apply to existing passwords
 * and imported hashes.
 * @param field name of the password in the errors.
 * @throws VALIDATION_ERROR that names the rule
 */
export async function requireGoodPassword(
  p: PasswordPlatform,
  password: string,
  owner: PasswordOwner,
  field = "password",
): Promise<void> {
  const mistake = await findPasswordMistake(p, password, owner);
  if (mistake !== null) throw invalid({ [field]: [mistake] });
}

/** The rule that a password breaks, in the composed form in which it is hashed; null: it is a good password. */
export async function findPasswordMistake(
  p: PasswordPlatform,
  given: string,
  owner: PasswordOwner,
): Promise<string | null> {
  const password = given.normalize("NFC");
  const length = [...password].length;
  const { min, max } = PASSWORD_LENGTH;
  if (length < min || length > max) return `expected ${min} to ${max} characters, found ${length}`;
  if (isMadeOfOwnWords(password, owner)) {
    return "must not be made of the account's own words (email, names, tenant) with fewer than 5 other characters";
  }
  if (await isCommon(password)) {
    return "must not be one of the most common passwords, also not repeated or with digits or symbols around it";
  }
  if (p.config.BREACHED_PASSWORDS !== null && await isBreached(p.config.BREACHED_PASSWORDS, password)) {
    return "must not be a password that is known from a data breach";
  }
  return null;
}

/** Reads the words of an existing account. */
export async function readPasswordOwner(q: Sql, userId: string): Promise<PasswordOwner> {
  const [owner] = await q<PasswordOwner[]>`
    select email, first_name, last_name, array(
      select t.name from user_tenants l join tenants t on t.id = l.tenant_id where l.user_id = u.id) as tenant_names
    from users u where id = ${userId}`;
  if (!owner) throw new Error(`user ${userId} does not exist; expected an existing user`);
  return owner;
}
