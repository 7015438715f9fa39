// Looks for keys and passwords in the files git keeps: `deno task scan-secrets`. Asks nobody, so it runs anywhere.
import { join } from "node:path";
import { readWords, takesNone } from "./shared/words.ts";

const HELP = `Usage: deno task scan-secrets

Looks through all files git keeps, and those it would, for private keys and tokens of known forms.
A line that only looks like one says so: "not a secret", in a comment on it or on the line above.

Example: deno task scan-secrets

Exit code 0 when nothing is found, or nothing looked at where git keeps no files; 1 otherwise, 64 for wrong usage.`;

/** Forms nothing else has, and long values that are given to a name that speaks of a secret. */
const FORMS: Record<string, RegExp> = {
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
  "a value of a secret's name":
    /(?:[Ss]ecret|SECRET|[Pp]assword|PASSWORD|[Tt]oken|TOKEN|[Aa]pi_?[Kk]ey|API_KEY)["']?\s*[:=]\s*["'](?=[^"']*[A-Z])(?=[^"']*[a-z])(?=[^"']*\d)[A-Za-z0-9+/_=-]{32,}["']/,
};
const DECLARED = /not a secret/i;
const LARGEST = 2_000_000;

/** Where `text` looks as if it held a secret: line and kind; never the secret itself. */
export function secretsIn(text: string): { line: number; kind: string }[] {
  const lines = text.split("\n");
  return lines.flatMap((line, index) => {
    if (DECLARED.test(line) || DECLARED.test(lines[index - 1] ?? "")) return [];
    const reach = line.includes("-----BEGIN") ? lines.slice(index, index + 3).join("\n") : line;
    return Object.entries(FORMS).filter(([, form]) => form.test(reach))
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
    console.error(`nothing was looked at: ${message}`);
    return message.includes("not a git repository") ? 0 : 1;
  }
  let found = 0;
  for (const path of new TextDecoder().decode(stdout).split("\0").filter((path) => path !== "")) {
    const bytes = await Deno.readFile(join(import.meta.dirname ?? ".", "..", path)).catch(() => null);
    if (!bytes || bytes.length > LARGEST || bytes.includes(0)) continue; // gone, generated, or no text
    for (const { line, kind } of secretsIn(new TextDecoder().decode(bytes))) {
      console.error(`${path}:${line}: looks like ${kind}`);
      found++;
    }
  }
  console.log(found === 0 ? "no secrets found" : `${found} found`);
  return found;
}

if (import.meta.main) {
  readWords(HELP, takesNone);
  Deno.exit(await scan() === 0 ? 0 : 1);
}
