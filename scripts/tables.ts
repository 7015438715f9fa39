// Writes the page of all tables: `deno task tables`.
import { readTables } from "./tables/declaration.ts";
import { tablesPage } from "./tables/page.ts";
import { requireNoArguments, runScript, withDatabase } from "./shared/run_script.ts";

const HELP = `Usage: DATABASE_URL=postgres://... deno task tables

Writes infra/postgres/TABLES.md from the schema of the database and from infra/postgres/tables.txt.

Example: deno task tables

Exit code 0 when written, 64 for wrong usage, 69 when the database is not usable or a table or column has no meaning.`;

await runScript({
  help: HELP,
  options: {},
  async run(_values, positionals) {
    requireNoArguments(positionals);
    const page = tablesPage(await withDatabase("tables", (sql) => readTables(sql)));
    await Deno.writeTextFile(new URL("../infra/postgres/TABLES.md", import.meta.url), page);
    return 0;
  },
});
