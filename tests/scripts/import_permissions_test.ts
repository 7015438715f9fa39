import assert from "node:assert/strict";
import { join } from "node:path";
import { newId } from "../../domain/shared/ids.ts";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../support/cluster.ts";
import { runScript } from "../support/run_script.ts";

const databaseUrl = await createTestDatabase();
const folder = await Deno.makeTempDir({ prefix: "steward-import-" });
Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

const run = (args: string[], env: Record<string, string> = { DATABASE_URL: databaseUrl }) =>
  runScript("import-permissions", args, { env });

async function file(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await Deno.writeTextFile(path, content);
  return path;
}

Deno.test("a file is imported into the catalog or a tenant; invalid rows are listed and fail alone", async () => {
  const sql = connectPostgres(databaseUrl, { max: 1 });
  const tenantId = newId();
  await sql`insert into tenants (id, name, type) values (${tenantId}, 'Import', 'Standard')`;
  const mixed = await file("mixed.csv", "code,description,category\r\nread:x,=1+1,X\r\nBAD,,X\r\n");
  const dry = await run([mixed, "--dry-run"]);
  assert.equal(dry.code, 1);
  assert.match(dry.out, /^dry run, nothing written: 2 rows: 1 created, .* 1 failed/);
  assert.match(dry.err, /row 2 "BAD": code: expected action:resource/);

  const good = await file(
    "good.json",
    `{"catalog": [{"category": "X", "permissions": [{"code": "read:x"}]}]}`,
  );
  assert.equal((await run([good, "--tenant", tenantId])).code, 0);
  const again = await run([good, "--tenant", tenantId, "--upsert", "--json", "--mode", "catalog"]);
  assert.equal(JSON.parse(again.out).unchanged, 1);
  const other = await file("other.csv", "code,category\nread:y,X\n");
  assert.equal((await run([other])).code, 0);
  const rows = await sql<{ code: string; tenantId: string | null }[]>`
    select code, tenant_id from permissions where category = 'X' order by code`;
  assert.deepEqual([...rows], [{ code: "read:x", tenantId }, { code: "read:y", tenantId: null }]);
  await sql.end();
});

Deno.test("every kind of failure has its exit code", async () => {
  const good = await file("codes.csv", "code,category\nread:codes,X\n");
  const expected: [number, string[], Record<string, string>?][] = [
    [64, []],
    [64, [good, "--mode", "x"]],
    [64, [good, "--tenant", newId()]],
    [64, [good], { DATABASE_URL: "" }],
    [65, [await file("bad.csv", "nothing\n")]],
    [66, [join(folder, "absent.csv")]],
    [69, [good], { DATABASE_URL: "postgres://nobody:x@127.0.0.1:1/none" }],
  ];
  for (const [code, args, env] of expected) {
    const result = await run(args, env);
    assert.equal(result.code, code, `${args}: ${result.err}`);
    assert.match(result.err, code === 64 ? /^Usage: /m : /./);
  }
});
