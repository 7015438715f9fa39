// Prints the table of settings: `deno task config`; `--readme` writes it into the README instead.
import { join } from "node:path";
import { settingsTable } from "./config/table.ts";

const HELP = `Usage: deno task config [--readme]

Prints every setting of the service as a table, or with --readme puts that table into the README.`;

const readme = join(import.meta.dirname ?? ".", "..", "README.md");

if (Deno.args.includes("--help") || Deno.args.includes("-h")) {
  console.log(HELP);
} else if (Deno.args.includes("--readme")) {
  const text = await Deno.readTextFile(readme);
  const [before, after, ...rest] = text.split(/(?<=<!-- config -->\n)[\s\S]*?(?=<!-- \/config -->)/);
  if (after === undefined || rest.length > 0) {
    throw new Error("the README has no one place marked for the table");
  }
  await Deno.writeTextFile(readme, `${before}\n${settingsTable()}\n${after}`);
} else {
  console.log(settingsTable());
}
