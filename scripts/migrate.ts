// Runs pending migrations: `deno task migrate`. `--schema FILE` also writes the description of the schema to FILE.
import { describeSchema } from "../infra/postgres/describe_schema.ts";
import { migrate } from "../infra/postgres/migrate.ts";
import { connectPostgres } from "../infra/postgres/postgres.ts";
import { EXIT, Failure, isPooled, requireNoArguments, runScript } from "./shared/run_script.ts";

const HELP = `Usage: DATABASE_URL=postgres://... deno task migrate [--schema FILE]

Runs pending migrations in one transaction, so either all or none are applied. Only one process runs them at a time.
  --schema FILE   write the description of the resulting schema to FILE
  -h, --help      this text

Example: DATABASE_URL=postgres://steward:PASSWORD@127.0.0.1/steward deno task migrate

Exit code 0 when the database is up to date, 64 for wrong usage, 1 when it failed.`;

await runScript({
  help: HELP,
  options: { schema: { type: "string" } },
  async run({ schema }, positionals) {
    requireNoArguments(positionals);
    const url = Deno.env.get("DATABASE_URL")?.trim();
    if (!url) throw new Failure(EXIT.usage, "DATABASE_URL is missing");
    try {
      const sql = connectPostgres(url, {
        max: 1,
        prepare: false,
        work: "migration",
        pooled: isPooled(),
        applicationName: "steward migrate",
      });
      try {
        const names = await migrate(sql);
        console.log(names.length === 0 ? "the database is up to date" : `ran ${names.join(", ")}`);
        if (schema) await Deno.writeTextFile(schema, await describeSchema(sql));
      } finally {
        await sql.end();
      }
    } catch (error) {
      throw new Failure(EXIT.refused, `the migration failed: ${(error as Error).message}`);
    }
    return 0;
  },
});
