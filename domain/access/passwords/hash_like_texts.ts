/** Shown instead of a password hash. */
export const HIDDEN_HASH = "•••";

/** Parts of a text that may be password hashes, of accepted and other formats. */
const HASH_LIKE = new RegExp(
  [
    String.raw`\{[A-Za-z][\w.-]*\}[\w+/.$=,-]{8,}`, // LDAP, Spring: {SSHA}…, {bcrypt}$2a$…
    String.raw`(?<![^\s"';])(?=[^\s"';]{13})[^\s"';$]*(?:\$[^\s"';$]*){2,}`, // crypt, PHC, Django, Werkzeug: $2b$10$…, sha1$salt$…
    String.raw`(?<![A-Za-z\d])(?:0x)?[\da-f]{32,}(?![A-Za-z\d])`, // digests in hexadecimal
    String.raw`(?<![\w+/])[A-Za-z\d+/]{22,}={1,2}(?!=)`, // digests in base64
    String.raw`(?<![\w+/])(?=[A-Za-z+/]*\d)[A-Za-z\d+/]{40,}`, // the same without padding
  ].join("|"),
  "gi",
);

/** Replaces what may be a password hash. A wrong column can bring one into any text about a row of an import. */
export const withoutHashes = (text: string): string => text.replaceAll(HASH_LIKE, HIDDEN_HASH);

/** True if the text contains a part that may be a password hash. */
export const mayContainHash = (text: string): boolean => withoutHashes(text) !== text;
