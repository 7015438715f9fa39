import { type Setting, SETTINGS } from "../../infra/settings.ts";

/** Every setting as a Markdown table: name, meaning, and the values used if it is absent. */
export function settingsTable(): string {
  const rows = Object.entries<Setting>(SETTINGS).map(
    ([name, { meaning, development, production, optional }]) => {
      const required = production === undefined ? (optional ? "" : "required") : absent(production);
      return `| \`${name}\` | ${meaning.replaceAll("|", "\\|")} | ${absent(development)} | ${required} |`;
    },
  );
  return [
    "| Variable | Meaning | Absent in development | Absent in production |",
    "|---|---|---|---|",
    ...rows,
  ].join("\n");
}

const absent = (value: string | undefined): string =>
  value === undefined ? "" : value === "" ? "made by the service" : `\`${value}\``;
