import type { Table } from "./declaration.ts";

/** The page of all tables, in Markdown. */
export function tablesPage(tables: Table[]): string {
  const sections = [...Map.groupBy(tables, ({ section }) => section)];
  return `# Tables

\`deno task tables\` makes this page from the schema and from [tables.txt](tables.txt), which has the meanings. *Passing* rows
soon end; *derived* ones follow from other tables. In the last column stand personal data, the id of a user, and secrets.
Extensions have their tables in schemas of their own.
${sections.map(([section, tables]) => `\n## ${section}\n${tables.map(tableText).join("")}`).join("")}`;
}

/** The part of a page about one table. */
export const tableText = ({ name, meaning, marks, columns }: Table): string => `
### ${name}

${meaning}.${marks.map((mark) => ` *${mark}*`).join("")}

| Column | Type | Meaning | Data |
|---|---|---|---|
${
  columns.map(({ name, type, isNullable, meaning, marks }) =>
    `| ${name} | ${type}${isNullable ? ", null" : ""} | ${meaning} | ${
      marks.map((mark) => mark.replace(/ if .*/, " at times")).join(", ")
    } |\n`
  ).join("")
}`;
