// Searches the files in git for keys and passwords: `deno task scan-secrets`. Works offline.
import { join } from "node:path";
import { expectNone, readPlainArguments } from "./shared/plain_arguments.ts";

const HELP = `Usage: deno task scan-secrets

Searches all files that git tracks or would add for private keys, tokens and passwords in known formats.
To accept a false positive, write "not a secret" in a comment on that line or on the line above.

Example: deno task scan-secrets

Exit code 0 when nothing is found or the folder is not a git repository, 1 otherwise, 64 for wrong usage.`;

/** Patterns of known secret formats, and of long values assigned to names such as `password` or `token`. */
const PATTERNS: Record<string, RegExp> = {
  "a private key": /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----\s*[A-Za-z0-9+/=\\n]{40}/,
  "a JSON Web Key with its private part": /"d"\s*:\s*"[A-Za-z0-9_-]{43,}"/,
  "an AWS access key": /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/,
  "a GitHub token": /\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60,})/,
  "a GitLab token": /\bglpat-[A-Za-z0-9_-]{20,}/,
  "an npm token": /\bnpm_[A-Za-z0-9]{36}\b/,
  "a Slack token": /\bxox[abprs]-[A-Za-z0-9-]{20,}/,
  "a Google API key": /\bAIza[0-9A-Za-z_-]{35}\b/,
  "an API key": /\bsk_(?:live_|test_)?[A-Za-z0-9]{24,}/,
  "a signed token": /\beyJ[A-Za-z0-9_-]{20,}\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{40,}/,
  "a password in a URL":
    /\b[a-z][a-z0-9+]*:\/\/[^\s:/@"'`$<{]+:(?=[^\s@"'`$<{]*\d)[^\s@"'`$<{]{12,}@(?!localhost|127\.)/,
  "a value assigned to a secret's name":
    /(?:[Ss]ecret|SECRET|[Pp]assword|PASSWORD|[Tt]oken|TOKEN|[Aa]pi_?[Kk]ey|API_KEY)["']?\s*[:=]\s*["'](?=[^"']*[A-Z])(?=[^"']*[a-z])(?=[^"']*\d)[A-Za-z0-9+/_=-]{32,}["']/,
};
const ALLOWED = /not a secret/i;
const MAX_FILE_BYTES = 2_000_000;

/** Line number and kind of every possible secret in `text`; never the secret itself. */
export function secretsIn(text: string): { line: number; kind: string }[] {
  const lines = text.split("\n");
  return lines.flatMap((line, index) => {
    if (ALLOWED.test(line) || ALLOWED.test(lines[index - 1] ?? "")) return [];
    const context = line.includes("-----BEGIN") ? lines.slice(index, index + 3).join("\n") : line;
    return Object.entries(PATTERNS).filter(([, pattern]) => pattern.test(context))
      .map(([kind]) => ({ line: index + 1, kind }));
  });
}

async function scan(): Promise<number> {
  const { success, stdout, stderr } = await new Deno.Command("git", {
    args: ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    cwd: join(import.meta.dirname ?? ".", ".."),
    env: { LC_ALL: "C" },
  }).output();
  if (!success) {
    const message = new TextDecoder().decode(stderr).trim();
    console.error(`no files were scanned: ${message}`);
    return message.includes("not a git repository") ? 0 : 1;
  }
  let found = 0;
  for (const path of new TextDecoder().decode(stdout).split("\0").filter((path) => path !== "")) {
    const bytes = await Deno.readFile(join(import.meta.dirname ?? ".", "..", path)).catch(() => null);
    if (!bytes || bytes.length > MAX_FILE_BYTES || bytes.includes(0)) continue; // deleted, generated or binary
    for (const { line, kind } of secretsIn(new TextDecoder().decode(bytes))) {
      console.error(`${path}:${line}: possibly ${kind}`);
      found++;
    }
  }
  console.log(found === 0 ? "no secrets found" : `${found} found`);
  return found;
}

if (import.meta.main) {
  readPlainArguments(HELP, expectNone);
  Deno.exit(await scan() === 0 ? 0 : 1);
}
