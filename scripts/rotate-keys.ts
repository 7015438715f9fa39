// Moves the keys of access tokens on: `deno task rotate-keys [now|announce|promote|retire]`.
import type { JWK } from "jose";
import { systemClock } from "../domain/shared/clock.ts";
import {
  createTokens,
  readOrCreateTokenKeys,
  rotateTokenKeys,
  type RotationStep,
  writeTokenKeys,
} from "../infra/tokens.ts";
import { readWords } from "./shared/words.ts";

const HELP = `Usage: deno task rotate-keys [now|announce|promote|retire]

Makes the next set of keys that access tokens are signed and verified with.
  now       a new key signs; the present one still verifies (the default)
  announce  a new key verifies only, so that every instance learns of it first
  promote   the announced key signs; the former one still verifies
  retire    only the signing key stays: tokens of the other are refused

With TOKEN_KEYS set, its next value is printed on stdout and nothing is changed: put it where your secrets are and
restart every instance. Without it, the development keys in DATA_DIR (.data) are rewritten; restart the service.
One instance: \`now\`, and \`retire\` 16 minutes later. Several: \`announce\`, restart all, \`promote\`, restart all,
\`retire\` 16 minutes later. A key that leaked: \`now\`, then \`retire\` at once, then restart all.

Example: TOKEN_KEYS="$(cat token-keys.json)" deno task rotate-keys announce > next-token-keys.json

Exit code 0 when done, 64 for wrong usage, 78 when the present keys cannot be used, 1 when it failed.`;

const STEPS: readonly string[] = ["now", "announce", "promote", "retire"] satisfies RotationStep[];

const [step = "now"] = readWords(
  HELP,
  (words) =>
    words.length > 1 || words.some((word) => !STEPS.includes(word))
      ? `unknown arguments: ${words.join(" ")}`
      : null,
);

const configured = Deno.env.get("TOKEN_KEYS")?.trim();
const folder = Deno.env.get("DATA_DIR")?.trim() || ".data";
const source = configured ? "TOKEN_KEYS" : `the key file in ${folder}`;
const present = await readKeys().catch((error) => {
  // A parser's message would quote the keys.
  const reason = error instanceof SyntaxError ? "they are not JSON" : (error as Error).message;
  console.error(`the keys of ${source} cannot be used: ${reason}`);
  Deno.exit(78);
});

try {
  const next = await rotateTokenKeys(present, step as RotationStep);
  if (configured) console.log(JSON.stringify(next));
  else await writeTokenKeys(folder, next);
  const ids = (await publicKeys(next)).map(({ kid }, index) =>
    `${kid} (${index === 0 ? "signs" : "verifies"})`
  );
  console.error(`the next keys of ${source}: ${ids.join(", ")}; they count after a restart`);
} catch (error) {
  console.error(`the keys were not changed: ${(error as Error).message}`);
  Deno.exit(1);
}

async function readKeys() {
  const keys = configured ? JSON.parse(configured) : await readOrCreateTokenKeys(folder);
  if (!Array.isArray(keys)) throw new Error("they are not an array");
  await publicKeys(keys);
  return keys;
}

/** Throws where one of `keys` is none. */
async function publicKeys(keys: JWK[]): Promise<JWK[]> {
  return (await createTokens({ keys, issuer: () => "", audience: "", clock: systemClock })).publicKeys().keys;
}
