import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { connectPostgres } from "../infra/postgres/postgres.ts";
import { settingsTable } from "../scripts/config/table.ts";
import { createTestDatabase } from "./support/cluster.ts";

const root = join(import.meta.dirname ?? ".", "..");

const OPERATION = ["access", "events", "files", "jobs", "notifications", "reports"].map((area) =>
  `domain/${area}/OPERATION.md`
);

const READMES = [
  ...OPERATION,
  "README.md",
  "infra/README.md",
  "routes/README.md",
  "scripts/README.md",
  "scripts/client/workers/README.md",
  "scripts/import/README.md",
  "infra/postgres/README.md",
  "scripts/testing/README.md",
  "scripts/deploy/README.md",
  "domain/README.md",
  "domain/jobs/README.md",
  "domain/jobs/limits/README.md",
  "domain/jobs/TABLES.md",
  "domain/jobs/remote/README.md",
  ".github/CONTRIBUTING.md",
  ".github/SECURITY.md",
  ".github/ASVS.md",
  ".github/VERSIONS.md",
];

Deno.test("the front page stays short, and every link between the READMEs resolves", async () => {
  const front = await Deno.readTextFile(join(root, "README.md"));
  assert.ok(front.split("\n").length <= 250);
  const broken: string[] = [];
  for (const path of READMES) {
    const text = await Deno.readTextFile(join(root, path));
    for (const [, target = ""] of text.matchAll(/\]\((?!https?:)([^)#]+)/g)) {
      const found = await Deno.stat(join(root, dirname(path), target)).catch(() => null);
      if (!found) broken.push(`${path}: ${target}`);
    }
  }
  assert.deepEqual(broken, []);
});

Deno.test("infra/README.md shows the current settings", async () => {
  const readme = await Deno.readTextFile(join(root, "infra/README.md"));
  assert.ok(readme.includes(settingsTable()), "run `deno task config --readme`");
});

Deno.test("every task named in the READMEs exists", async () => {
  const readmes = await Promise.all(READMES.map((path) => Deno.readTextFile(join(root, path))));
  const { tasks } = JSON.parse(await Deno.readTextFile(join(root, "deno.json")));
  const named = new Set(
    Array.from(
      readmes.join("\n").matchAll(/(?:deno|deno@2\.9\.6) task (?:--\S+ )?([a-z-]+)/g),
      (match) => match[1] ?? "",
    ),
  );
  assert.deepEqual([...named].filter((name) => !(name in tasks)), []);
});

Deno.test("each page of operation is short, and its three queries run on the present schema", async () => {
  const sql = connectPostgres(await createTestDatabase(), { max: 1 });
  for (const path of OPERATION) {
    const text = await Deno.readTextFile(join(root, path));
    assert.ok(text.split("\n").length <= 121, path);
    const [, block = ""] = /```sql queries\n([^`]*)```/.exec(text) ?? [];
    const queries = block.split(/;\n\s*/).filter((query) => query !== "");
    assert.deepEqual(
      queries.map((query) => /^-- ([^?]*\?)/.exec(query)?.[1]),
      ["Is it stuck?", "What grows?", "Who is affected?"],
      path,
    );
    for (const query of queries) {
      await sql.unsafe(query).catch((error) => assert.fail(`${path}: ${error}: ${query}`));
    }
  }
  await sql.end();
});
