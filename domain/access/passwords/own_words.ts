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
export function isMadeOfOwnWords(password: string, owner: PasswordOwner): boolean {
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
