import type { Table } from "./declaration.ts";

/** The page of all tables, in Markdown. */
export function tablesPage(tables: Table[]): string {
  const sections = Map.groupBy(tables, ({ section }) => section);
  return [
    "# Tables",
    "",
    "`deno task tables` makes this page from the schema and from [tables.txt](tables.txt), which has the meanings. *Passing* rows",
    "soon end; *derived* ones follow from other tables. In the last column stand personal data, the id of a user, and secrets.",
    "Extensions have their tables in schemas of their own.",
    ...[...sections].flatMap(([section, tables]) => ["", `## ${section}`, ...tables.flatMap(tableLines)]),
    "",
  ].join("\n");
}

/** The lines about a table, after an empty one. */
export const tableLines = ({ name, meaning, kind, columns }: Table): string[] => [
  "",
  `### ${name}`,
  "",
  `${meaning}.${kind ? ` *${kind[0]?.toUpperCase()}${kind.slice(1)}.*` : ""}`,
  "",
  "| Column | Type | Meaning | Data |",
  "|---|---|---|---|",
  ...columns.map(({ name, type, isNullable, meaning, mark, secretIf }) =>
    `| ${name} | ${type}${isNullable ? ", null" : ""} | ${meaning} | ${
      [mark, secretIf && "may be secret"].filter(Boolean).join(", ")
    } |`
  ),
];
