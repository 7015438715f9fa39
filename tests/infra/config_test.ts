import assert from "node:assert/strict";
import { ConfigurationError, readConfig } from "../../infra/config.ts";

Deno.test("development needs no settings and embeds missing parts", () => {
  const config = readConfig({});
  assert.equal(config.PORT, 8000);
  assert.equal(config.DATABASE_URL, null);
  assert.equal(config.BOOTSTRAP_ADMIN_EMAIL, "admin@steward.local");
});

Deno.test("production reports all missing settings together and uses no development default", () => {
  const error = mistakesOf({ STEWARD_ENV: "production" });
  for (
    const name of [
      "DATABASE_URL",
      "S3_ENDPOINT",
      "S3_SECRET_KEY",
      "S3_BUCKET",
      "TOKEN_KEYS",
      "SMTP_URL",
      "SCANNER",
      "BOOTSTRAP_ADMIN_PASSWORD",
    ]
  ) {
    assert.match(error.message, new RegExp(`${name} is missing`), name);
  }
});

Deno.test("every malformed setting is reported, and no value appears in the message", () => {
  const error = mistakesOf({
    PORT: "99999999",
    DATABASE_URL: "mysql://u:hunter2@h/d",
    LOG_LEVEL: "loud",
    JOB_CONCURRENCY: "many",
  });
  assert.equal(error.mistakes.length, 4);
  assert.doesNotMatch(error.message, /hunter2|99999999/);
});

Deno.test("a scanner that needs a host is rejected without one", () => {
  assert.match(mistakesOf({ SCANNER: "clamd" }).message, /CLAMD_HOST is missing/);
});

function mistakesOf(env: Record<string, string>): ConfigurationError {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
  throw new assert.AssertionError({ message: "expected the configuration to be refused" });
}
