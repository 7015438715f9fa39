// Regenerates infra/postgres/schema.sql.txt from the migrations: `deno task schema`, after adding a migration.
import { join } from "node:path";
import { startEmbeddedPostgres } from "../infra/embedded/postgres.ts";
import { describeSchema } from "../infra/postgres/describe_schema.ts";
import { migrate } from "../infra/postgres/migrate.ts";
import { connectPostgres } from "../infra/postgres/postgres.ts";
import { expectNone, readPlainArguments } from "./shared/plain_arguments.ts";

const HELP = `Usage: deno task schema

Regenerates infra/postgres/schema.sql.txt, which is for review, by running the migrations in a new embedded Postgres.

Example: deno task schema

Exit code 0 when the file is written, 64 for wrong usage, 1 when a migration failed.`;

readPlainArguments(HELP, expectNone);
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
