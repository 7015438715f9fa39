// Runs pending migrations of the service and of its extensions: `deno task migrate`.
import { describeSchema } from "../infra/postgres/describe_schema.ts";
import { conditionsOf, migrate } from "../infra/postgres/migrate.ts";
import { connectPostgres } from "../infra/postgres/postgres.ts";
import { settingText } from "../infra/config.ts";
import { paths } from "../infra/setting_shapes.ts";
import { loadExtensions, migrationsOf } from "../routes/extensions/load_extensions.ts";
import { EXIT, Failure, isPooled, requireNoArguments, runScript } from "./shared/run_script.ts";

const HELP = `Usage: DATABASE_URL=postgres://... deno task migrate [--dry-run] [--schema FILE]

Runs pending migrations in one transaction, so either all or none are applied. Only one process runs them at a time.
STEWARD_EXTENSIONS names the modules of extensions; their migrations and channels are added after the service's. A migration says if something new must wait until the previous version has stopped.
  --dry-run       run them, roll back, and print their names
  --schema FILE   write the description of the resulting schema to FILE
  -h, --help      this text

Example: DATABASE_URL=postgres://steward:PASSWORD@127.0.0.1/steward deno task migrate

Exit code 0 when the database is up to date, 64 for wrong usage, 1 when it failed.`;

await runScript({
  help: HELP,
  options: { "dry-run": { type: "boolean", default: false }, schema: { type: "string" } },
  async run({ schema, "dry-run": dryRun }, positionals) {
    requireNoArguments(positionals);
    const url = settingText("DATABASE_URL");
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
        const modules = paths.parse(settingText("STEWARD_EXTENSIONS") ?? "");
        const names = await migrate(sql, migrationsOf(await loadExtensions(modules)), { dryRun });
        const verb = dryRun ? "would run" : "ran";
        console.log(names.length === 0 ? "the database is up to date" : `${verb} ${names.join(", ")}`);
        for (const condition of await conditionsOf(names)) console.log(condition);
        if (schema && !dryRun) await Deno.writeTextFile(schema, await describeSchema(sql));
      } finally {
        await sql.end();
      }
    } catch (error) {
      throw new Failure(EXIT.refused, `the migration failed: ${(error as Error).message}`);
    }
    return 0;
  },
});
