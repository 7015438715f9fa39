// Prints the table of settings that the README shows: `deno task config`.
import { SETTINGS } from "../infra/config.ts";

const cell = (value: string | undefined) =>
  value === undefined ? "" : value === "" ? "embedded" : `\`${value}\``;

console.log("| Variable | Meaning | Development | Production |\n|---|---|---|---|");
for (
  const [name, s] of Object.entries<
    { meaning: string; development?: string; production?: string; optional?: true }
  >(SETTINGS)
) {
  const production = s.production === undefined ? (s.optional ? "" : "required") : cell(s.production);
  console.log(
    `| \`${name}\` | ${s.meaning.replaceAll("|", "\\|")} | ${cell(s.development)} | ${production} |`,
  );
}
