// Prints the table of settings: `deno task config`. With `--readme`, writes it into infra/README.md instead.
import { join } from "node:path";
import { settingsTable } from "./config/table.ts";
import { readPlainArguments } from "./shared/plain_arguments.ts";

const HELP = `Usage: deno task config [--readme]

Prints every setting of the service as a table, or with --readme writes that table into infra/README.md.

Example: deno task config --readme

Exit code 0 when done, 64 for wrong usage, 1 when infra/README.md lacks the markers of the table.`;

const readme = join(import.meta.dirname ?? ".", "..", "infra", "README.md");

const [target] = readPlainArguments(
  HELP,
  (words) =>
    words.length === 0 || words.join() === "--readme" ? null : `unknown arguments: ${words.join(" ")}`,
);
if (target === "--readme") {
  const text = await Deno.readTextFile(readme);
  const [before, after, ...rest] = text.split(/(?<=<!-- config -->\n)[\s\S]*?(?=<!-- \/config -->)/);
  if (after === undefined || rest.length > 0) {
    throw new Error(
      "infra/README.md must contain exactly one pair of markers <!-- config --> and <!-- /config -->",
    );
  }
  await Deno.writeTextFile(readme, `${before}\n${settingsTable()}\n${after}`);
} else {
  console.log(settingsTable());
}
