// Creates and rotates the keys of access tokens: `deno task rotate-keys [create|now|announce|promote|retire|add-rs256]`.
import type { JWK } from "jose";
import {
  generateTokenKey,
  readOrCreateTokenKeys,
  readSigningKey,
  readTokenKeys,
  rotateTokenKeys,
  type RotationStep,
  type SigningKey,
  writeTokenKeys,
} from "../infra/signing_keys.ts";
import { readPlainArguments } from "./shared/plain_arguments.ts";
import { settingText } from "../infra/config.ts";

const HELP = `Usage: deno task rotate-keys [create|now|announce|promote|retire|add-rs256]

Creates the next set of keys that sign and verify access tokens.
  create    prints the first keys of a new installation, as a value for TOKEN_KEYS, and changes nothing
  now       a new key signs; the current key still verifies (default)
  announce  a new key only verifies, so that every instance has it before it signs
  promote   the announced key signs; the previous key still verifies
  retire    only the signing key remains; tokens signed by the other key are refused
  add-rs256 adds the RS256 key that the OpenID provider needs, and changes nothing else

Ed25519 keys (the service's own tokens) and RS256 keys (ID tokens) rotate together, each kind by itself.

With TOKEN_KEYS set, prints its next value on stdout and changes nothing: store the value with your secrets and restart
every instance. Without TOKEN_KEYS, rewrites the development keys in DATA_DIR (.data); restart the service.
One instance: \`now\`, then \`retire\` 16 minutes later. Several instances: \`announce\`, restart all, \`promote\`, restart all,
\`retire\` 16 minutes later. Leaked key: \`now\`, then \`retire\` at once, then restart all.

Example: deno task rotate-keys create > token-keys.json
Example: TOKEN_KEYS="$(cat token-keys.json)" deno task rotate-keys announce > next-token-keys.json

Exit code 0 when done, 64 for wrong usage, 78 when the current keys are not valid, 1 when it failed.`;

const STEPS: readonly string[] = [
  "create",
  "now",
  "announce",
  "promote",
  "retire",
  "add-rs256",
] satisfies (RotationStep | "create")[];

const [step = "now"] = readPlainArguments(
  HELP,
  (words) =>
    words.length > 1 || words.some((word) => !STEPS.includes(word))
      ? `unknown arguments: ${words.join(" ")}`
      : null,
);

if (step === "create") {
  console.log(JSON.stringify([await generateTokenKey(), await generateTokenKey("RS256")]));
  Deno.exit(0);
}

/** @throws Error when one of `keys` is not a valid key */
const imported = async (keys: JWK[]): Promise<SigningKey[]> => await Promise.all(keys.map(readSigningKey));

const configured = settingText("TOKEN_KEYS");
const folder = Deno.env.get("DATA_DIR")?.trim() || ".data";
const source = configured ? "TOKEN_KEYS" : `the key file in ${folder}`;
const current = await readKeys().catch((error) => {
  // The message of a parse error could contain parts of the keys.
  const reason = error instanceof SyntaxError ? "they are not JSON" : (error as Error).message;
  console.error(`the keys of ${source} are not valid: ${reason}`);
  Deno.exit(78);
});

try {
  const next = await rotateTokenKeys(current, step as RotationStep);
  if (configured) console.log(JSON.stringify(next));
  else await writeTokenKeys(folder, next);
  const signing = new Set<string>();
  const ids = (await imported(next)).map(({ kid, algorithm }) => {
    const use = signing.has(algorithm) ? "verifies" : "signs";
    signing.add(algorithm);
    return `${kid} (${algorithm}, ${use})`;
  });
  console.error(`the next keys of ${source}: ${ids.join(", ")}; they take effect after a restart`);
} catch (error) {
  console.error(`the keys were not changed: ${(error as Error).message}`);
  Deno.exit(1);
}

async function readKeys() {
  const keys = configured
    ? JSON.parse(configured)
    : [...await readOrCreateTokenKeys(folder), ...await readTokenKeys(folder, "RS256") ?? []];
  if (!Array.isArray(keys)) throw new Error("they are not an array");
  const algorithms = (await imported(keys)).map(({ algorithm }) => algorithm);
  if (!algorithms.includes("EdDSA")) throw new Error("there is no Ed25519 key");
  return keys;
}
