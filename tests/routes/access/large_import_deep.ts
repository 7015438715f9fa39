import assert from "node:assert/strict";
import { join } from "node:path";
import { createTestDatabase } from "../../support/cluster.ts";
import { signInAdministrator, startServiceProcess } from "../../support/service_process.ts";

const ROWS = 50_000;
/** Processor time of one turn on a busy machine. Without turns, an import takes up to 1,000 ms at once. */
const LONGEST_TURN_MS = 350;

const permissions = (text: string) =>
  Array.from({ length: ROWS }, (_, n) => ({
    code: `read:thing-${n}`,
    description: `${text} ${n} of a permission`.padEnd(90, "."),
    category: `Category ${n % 50}`,
  }));
const asJson = (text: string) => JSON.stringify({ permissions: permissions(text) });

function asCsv(text: string): FormData {
  const lines = permissions(text).map((permission) => Object.values(permission).join());
  const form = new FormData();
  form.set("file", new File([["code,description,category", ...lines].join("\n")], "p.csv"));
  return form;
}

Deno.test({
  name: "other requests get their turns during an import of 50,000 permissions",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const dataDir = await Deno.makeTempDir();
    const service = await startServiceProcess(
      { DATABASE_URL: await createTestDatabase(), DATA_DIR: dataDir },
      { preload: join(import.meta.dirname ?? "", "..", "..", "support", "long_turns.ts") },
    );
    try {
      const authorization = `Bearer ${await signInAdministrator(service.url)}`;
      const tally = async (path: string, body: string | FormData) => {
        const response = await fetch(`${service.url}/api/v1/permissions/import${path}`, {
          method: "POST",
          headers: {
            authorization,
            ...typeof body === "string" ? { "content-type": "application/json" } : {},
          },
          body,
        });
        const { rows, created, updated, unchanged, failed } = await response.json();
        assert.equal(rows.length, ROWS);
        return { created, updated, unchanged, failed };
      };
      const none = { created: 0, updated: 0, unchanged: 0, failed: 0 };
      assert.deepEqual(await tally("?dryRun=true", asJson("First")), { ...none, created: ROWS });
      const start = service.output().length; // the first import also compiles the code
      assert.deepEqual(await tally("", asJson("First")), { ...none, created: ROWS });
      assert.deepEqual(await tally("/file?upsert=true", asCsv("Second")), { ...none, updated: ROWS });
      await service.stop();
      const turns = [...service.output().slice(start).matchAll(/long turn: (\d+) ms/g)].map(([, ms]) =>
        Number(ms)
      );
      assert.ok(Math.max(...turns) < LONGEST_TURN_MS, `${turns} ms; expected at most ${LONGEST_TURN_MS}`);
    } finally {
      await service.stop();
      await Deno.remove(dataDir, { recursive: true });
    }
  },
});
