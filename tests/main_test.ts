import assert from "node:assert/strict";
import { readConfig } from "../infra/config.ts";
import { createLog } from "../infra/log.ts";
import { startSteward } from "../main.ts";
import { createTestDatabase } from "./support/cluster.ts";
import { spawnService } from "./support/service_process.ts";

Deno.test("a database that lacks migrations or cannot be used is refused with the reason", async () => {
  const DATA_DIR = await Deno.makeTempDir({ prefix: "steward-test-" });
  const DATABASE_URL = await createTestDatabase({ empty: true });
  const start = (env: Record<string, string>) =>
    startSteward(readConfig({ DATA_DIR, PORT: "0", DATABASE_URL, ...env }), { log: createLog("off") });
  await assert.rejects(
    start({ MIGRATE_ON_START: "false" }),
    /the database lacks \d+ migrations \(0400_schema\.sql … mails\); run `deno task migrate`/,
  );
  const absent = new URL(DATABASE_URL);
  absent.pathname = "/absent";
  await assert.rejects(
    start({ DATABASE_URL: absent.href }),
    /the database of DATABASE_URL cannot be used: database "absent" does not exist/,
  );
  await Deno.remove(DATA_DIR, { recursive: true });
});

Deno.test("a misspelled setting is named beside the mistakes in the configuration", async () => {
  const service = spawnService({ STEWARD_ENV: "production", S3_ENDPOIN: "http://store" });
  assert.equal(await service.ended, 78);
  assert.match(service.output(), /S3_ENDPOINT is missing/);
  assert.match(service.output(), /the variable S3_ENDPOIN is not a setting; did you mean S3_ENDPOINT\?/);
});
