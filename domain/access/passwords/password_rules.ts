import type { Config } from "../../../infra/config.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { invalid } from "../../problems/problem.ts";
import { isBreached } from "./breached_passwords.ts";
import { join } from "node:path";

/** Shorter words occur in random passwords too. */
const MIN_WORD = 3;
/** The number of other characters that a password needs beside the account's words. */
const MIN_OTHERS = 5;
const PRODUCT = "steward";

/** The account that a password is for. The password must not be made of these words. */
export interface PasswordOwner {
  email: string;
  firstName: string;
  lastName: string;
  /** Names of the tenants that the account is linked to. */
  tenantNames: string[];
}

/** True if a password without the account's own words has fewer than five characters. */
function isMadeOfOwnWords(password: string, owner: PasswordOwner): boolean {
  let rest = fold(password);
  for (const word of ownWords(owner)) rest = rest.replaceAll(word, "\n");
  return [...rest.replaceAll("\n", "")].length < MIN_OTHERS;
}

/** The words, longest first: a longer one may contain a shorter one. */
function ownWords({ email, firstName, lastName, tenantNames }: PasswordOwner): string[] {
  const texts = [email, ...email.split("@"), firstName, lastName, ...tenantNames, PRODUCT];
  const words = texts.map(fold).flatMap((text) => [
    text,
    text.replaceAll(/[^\p{L}\p{N}]/gu, ""),
    ...text.split(/[^\p{L}\p{N}]+/u),
  ]);
  return [...new Set(words)].filter((word) => [...word].length >= MIN_WORD)
    .sort((a, b) => b.length - a.length);
}

/** Lower case without accents. */
const fold = (text: string): string => text.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();

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

const FILE = join(import.meta.dirname ?? ".", "common_passwords.txt.gz");
/** A common password with fewer characters than these around it is still common. */
const MIN_AROUND = 8;
/** Letters that digits and symbols often stand for. */
const LOOKALIKES: Record<string, string> = {
  "@": "a",
  "4": "a",
  "3": "e",
  "1": "i",
  "0": "o",
  "$": "s",
  "5": "s",
};

let list: Promise<ReadonlySet<string>> | null = null;

/** The list takes about 2 MB of memory, and is read when the first password is chosen. */
async function readList(): Promise<ReadonlySet<string>> {
  const packed = new Blob([await Deno.readFile(FILE)]).stream();
  const text = await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).text();
  return new Set(text.trimEnd().split("\n"));
}

/**
 * Returns true if a password is a common one in any letter case, also if it is repeated, has digits or symbols around it, or
 * has symbols for letters.
 */
async function isCommon(password: string): Promise<boolean> {
  list ??= readList();
  const common = await list;
  const whole = password.toLowerCase();
  const forms = [whole, repeatedPart(whole)];
  const core = whole.replace(/^[^\p{L}]+/u, "").replace(/[^\p{L}]+$/u, "");
  const around = whole.replace(core, "");
  if ([...around].length < MIN_AROUND || common.has(around)) forms.push(core, repeatedPart(core));
  return forms.some((form) => common.has(form) || common.has(plainLetters(form)));
}

/** The shortest text whose repetition is `text`; `text` itself if it repeats nothing. */
const repeatedPart = (text: string): string => text.slice(0, (text + text).indexOf(text, 1));

const plainLetters = (text: string): string =>
  text.replaceAll(/[@4310$5]/g, (char) => LOOKALIKES[char] ?? char);
