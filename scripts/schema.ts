// Writes infra/postgres/schema.sql.txt anew from the migrations: `deno task schema`, after adding a migration.
import { join } from "node:path";
import { startEmbeddedPostgres } from "../infra/embedded/postgres.ts";
import { describeSchema } from "../infra/postgres/describe_schema.ts";
import { migrate } from "../infra/postgres/migrate.ts";
import { connectPostgres } from "../infra/postgres/postgres.ts";

if (Deno.args.length > 0) {
  console.log(
    "Usage: deno task schema\n\nRewrites infra/postgres/schema.sql.txt from the migrations, for review.",
  );
  Deno.exit(Deno.args.some((word) => word === "--help" || word === "-h") ? 0 : 64);
}
const target = join(import.meta.dirname ?? ".", "..", "infra", "postgres", "schema.sql.txt");
const folder = await Deno.makeTempDir({ prefix: "steward-schema-" });
const server = await startEmbeddedPostgres({ dir: folder, password: "schema", settings: { fsync: "off" } });
const sql = connectPostgres(server.url, { max: 1 });
await migrate(sql);
await Deno.writeTextFile(target, await describeSchema(sql));
await sql.end();
await server.stop();
await Deno.remove(folder, { recursive: true });
console.log(`wrote ${target}`);
