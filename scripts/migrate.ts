// Runs pending migrations: `deno task migrate`. `--schema FILE` also writes the schema's description there.
import { processEnv } from "../infra/config.ts";
import { describeSchema } from "../infra/postgres/describe_schema.ts";
import { migrate } from "../infra/postgres/migrate.ts";
import { connectPostgres } from "../infra/postgres/postgres.ts";

const HELP = `Usage: DATABASE_URL=postgres://... deno task migrate [--schema FILE]

Runs the migrations the database still lacks, one process at a time, all or none.
  --schema FILE   write the description of the resulting schema to FILE

Exit code 0 when the database is up to date, 64 for wrong usage, 1 when it failed.`;

if (Deno.args.includes("--help") || Deno.args.includes("-h")) {
  console.log(HELP);
  Deno.exit(0);
}
const url = processEnv().DATABASE_URL;
const schemaAt = Deno.args.indexOf("--schema");
const schemaFile = schemaAt < 0 ? null : Deno.args[schemaAt + 1];
if (!url || schemaFile === undefined) {
  console.error(`${url ? "--schema needs a file" : "DATABASE_URL is missing"}\n\n${HELP}`);
  Deno.exit(64);
}

const sql = connectPostgres(url, { max: 1, prepare: false, applicationName: "steward migrate" });
try {
  const names = await migrate(sql);
  console.log(names.length === 0 ? "the database is up to date" : `ran ${names.join(", ")}`);
  if (schemaFile) await Deno.writeTextFile(schemaFile, await describeSchema(sql));
} catch (error) {
  console.error(`the migration failed: ${error instanceof Error ? error.message : error}`);
  Deno.exitCode = 1;
} finally {
  await sql.end();
}
