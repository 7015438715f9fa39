// Prints the table of settings: `deno task config`; `--readme` writes it into infra/README.md instead.
import { join } from "node:path";
import { settingsTable } from "./config/table.ts";
import { readWords } from "./shared/words.ts";

const HELP = `Usage: deno task config [--readme]

Prints every setting of the service as a table, or with --readme writes that table into infra/README.md.

Example: deno task config --readme

Exit code 0 when done, 64 for wrong usage, 1 when infra/README.md has no place for the table.`;

const readme = join(import.meta.dirname ?? ".", "..", "infra", "README.md");

const [target] = readWords(
  HELP,
  (words) =>
    words.length === 0 || words.join() === "--readme" ? null : `unknown arguments: ${words.join(" ")}`,
);
if (target === "--readme") {
  const text = await Deno.readTextFile(readme);
  const [before, after, ...rest] = text.split(/(?<=<!-- config -->\n)[\s\S]*?(?=<!-- \/config -->)/);
  if (after === undefined || rest.length > 0) {
    throw new Error("infra/README.md has no one place marked for the table");
  }
  await Deno.writeTextFile(readme, `${before}\n${settingsTable()}\n${after}`);
} else {
  console.log(settingsTable());
}
