import assert from "node:assert/strict";
import { readConfig } from "../../../infra/config.ts";
import { openProviders } from "../../../infra/providers.ts";
import { pluck } from "../../support/answers.ts";

Deno.test("production sends nothing to the development outbox", async () => {
  const dataDir = await Deno.makeTempDir();
  const config = readConfig({ DATA_DIR: dataDir });
  const { mail, push, sms } = await openProviders(config);
  assert.deepEqual(pluck([mail[0], push[0], sms[0]], "name"), ["outbox", "outbox", "outbox"]);
  const SMTP_URL = ["smtp://127.0.0.1:1", "smtps://127.0.0.1:2"];
  const production = await openProviders({ ...config, isProduction: true, SMTP_URL });
  assert.deepEqual(pluck(production.mail, "name"), ["smtp", "smtp-2"]);
  assert.deepEqual([production.push, production.sms, production.outbox], [[], [], null]);
  await Deno.remove(dataDir, { recursive: true });
});
