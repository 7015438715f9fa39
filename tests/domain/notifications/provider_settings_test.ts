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

Deno.test("errors in provider settings are named, and no secret is shown", () => {
  const key = { project_id: "p", client_email: "a@b", private_key_id: "k", private_key: "s3cret" };
  const account = JSON.stringify({ ...key, token_uri: "http://x.test" });
  const mail = "smtp://a:s3cret@x.test, http://x.test";
  const cases: [name: string, value: string, mistake: RegExp][] = [
    ["SMTP_URL", mail, /SMTP_URL: entry 2: expected a URL beginning with smtp:/],
    ["FCM_SERVICE_ACCOUNT", "{s3cret", /FCM_SERVICE_ACCOUNT: expected JSON/],
    ["FCM_SERVICE_ACCOUNT", account, /private_key: expected a PKCS #8 key.*token_uri: expected an https URL/],
  ];
  for (const [name, value, mistake] of cases) {
    const isNamed = ({ message }: Error) => mistake.test(message) && !message.includes("s3cret");
    assert.throws(() => readConfig({ [name]: value }), isNamed, name);
  }
});
