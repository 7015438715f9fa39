import assert from "node:assert/strict";
import { join } from "node:path";
import { describeSchema } from "../../../infra/postgres/describe_schema.ts";
import { migrate, pendingMigrations } from "../../../infra/postgres/migrate.ts";
import { connectPostgres } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";

const root = join(import.meta.dirname ?? ".", "..", "..", "..");

Deno.test("the committed schema description is what the migrations make", async () => {
  const sql = connectPostgres(await createTestDatabase({ empty: true }), { max: 1 });
  await migrate(sql);
  const described = await describeSchema(sql);
  await sql.end();
  const committed = await Deno.readTextFile(join(root, "infra", "postgres", "schema.sql.txt"));
  assert.equal(described, committed, "run `deno task schema` and review the difference");
});

Deno.test("migrating twice runs nothing the second time", async () => {
  const sql = connectPostgres(await createTestDatabase({ empty: true }), { max: 1 });
  assert.ok((await migrate(sql)).length > 0);
  assert.deepEqual(await migrate(sql), []);
  assert.deepEqual(await pendingMigrations(sql), []);
  await sql.end();
});

Deno.test("ten processes migrating one empty database at once each end well and run each migration once", async () => {
  const url = await createTestDatabase({ empty: true });
  const outputs = await Promise.all(Array.from({ length: 10 }, () =>
    new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", join(root, "scripts", "migrate.ts")],
      env: { DATABASE_URL: url },
      stdout: "piped",
      stderr: "piped",
    }).output()));
  const printed = outputs.map(({ stdout, stderr }) =>
    new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr)
  );
  assert.deepEqual(outputs.map(({ code }) => code), Array(10).fill(0), printed.join("\n"));
  assert.equal(printed.filter((text) => text.startsWith("ran ")).length, 1);
});

Deno.test("a migration changed after it was applied is refused by name", async () => {
  const sql = connectPostgres(await createTestDatabase(), { max: 1 });
  await sql`update schema_migrations set sha256 = 'other' where version = 1`;
  await assert.rejects(migrate(sql), /0001_access\.sql was changed/);
  await sql.end();
});
