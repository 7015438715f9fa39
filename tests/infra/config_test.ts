import assert from "node:assert/strict";
import { join } from "node:path";
import {
  ConfigurationError,
  misspelledSettings,
  readConfig,
  unencryptedConnections,
} from "../../infra/config.ts";
import { SETTINGS } from "../../infra/settings.ts";
import { rsaKey } from "../support/rsa_key.ts";
import { algorithmOf, generateTokenKey } from "../../infra/signing_keys.ts";

Deno.test("production reports all missing settings together and uses no development default; development embeds what is missing", () => {
  const { message } = mistakesOf({ STEWARD_ENV: "production" });
  const needed = "DATABASE_URL PUBLIC_URL S3_ENDPOINT S3_SECRET_KEY S3_BUCKET TOKEN_KEYS SMTP_URL SCANNER";
  for (const name of [...needed.split(" "), "BOOTSTRAP_ADMIN_PASSWORD"]) {
    assert.match(message, new RegExp(`${name} is missing`), name);
  }
  const withAreas = (AREAS: string) => mistakesOf({ STEWARD_ENV: "production", AREAS }).message;
  assert.doesNotMatch(withAreas("jobs"), /S3_|SCANNER/);
  assert.match(withAreas("reports"), /S3_BUCKET is missing[^]*SCANNER is missing/);
  const { PORT, DATABASE_URL, BOOTSTRAP_ADMIN_EMAIL, OIDC_PROVIDERS } = readConfig({});
  assert.deepEqual([PORT, DATABASE_URL, OIDC_PROVIDERS], [8000, null, null]);
  assert.equal(BOOTSTRAP_ADMIN_EMAIL, "admin@steward.local");
});

Deno.test("every malformed setting is reported, and no value appears in the message", () => {
  const wrong = { PORT: "99999999", LOG_LEVEL: "loud", JOB_CONCURRENCY: "many" };
  const error = mistakesOf({ ...wrong, DATABASE_URL: "mysql://u:hunter2@h/d" });
  assert.equal(error.mistakes.length, 4);
  assert.doesNotMatch(error.message, /hunter2|99999999/);
});

const SENDER = /^MAIL_FROM: expected an address such as/;
const provider = (settings: Record<string, unknown>, name = "corp") => ({
  OIDC_PROVIDERS: JSON.stringify({ [name]: { issuer: "https://id.test", clientId: "x", ...settings } }),
});
const RESET = /RESET_URL: expected an http\(s\) URL that contains \{token\}/;
const ACCOUNT = {
  project_id: "p",
  client_email: "a@b",
  private_key_id: "k",
  private_key: "hush",
  token_uri: "http://x.test",
};
/** Settings that are refused; the word `hush` of a secret is in no message. */
const REFUSED: [env: Record<string, string>, mistake: RegExp][] = [
  ...["steward", "Steward <steward>", "Steward <a@shop.example", "a@x.example, b@x.example"]
    .map((MAIL_FROM): [{ MAIL_FROM: string }, RegExp] => [{ MAIL_FROM }, SENDER]),
  [{ SMTP_URL: "mail.example:25" }, /^SMTP_URL: entry 1: expected a URL beginning with smtp: or smtps:$/],
  [{ SMTP_URL: "smtp://one.example:25, two.example:25" }, /^SMTP_URL: entry 2: expected a URL/],
  [{ SMTP_URL: "smtps://user:a,b@one.example, two.example:25" }, /^SMTP_URL: entry 2: expected a URL/],
  [{ FCM_SERVICE_ACCOUNT: "{hush" }, /FCM_SERVICE_ACCOUNT: expected JSON/],
  [
    { FCM_SERVICE_ACCOUNT: JSON.stringify(ACCOUNT) },
    /private_key: expected a PKCS #8 key.*token_uri: expected/,
  ],
  [{ SCANNER: "clamd" }, /CLAMD_HOST is missing/],
  [{ AREAS: "jobs,job" }, /^AREAS: entry 2: expected some of access, jobs, files/],
  [{ ARCHIVE: "audit" }, /^ARCHIVE: entry 1: expected some of jobs, messages, events$/],
  [{ ARCHIVE: "jobs", AREAS: "jobs" }, /^ARCHIVE needs the bucket/],
  [provider({ issuer: "http://id.test" }), /OIDC_PROVIDERS: corp\.issuer: expected an https URL/],
  [provider({ issuer: "no url" }), /corp\.issuer: /],
  [provider({ scopes: ["email"] }), /corp\.scopes: expected `openid`/],
  [provider({ clientId: undefined }), /corp\.clientId/],
  [provider({ autoprovision: true }), /autoprovision/],
  [provider({}, "No Name"), /OIDC_PROVIDERS: .*expected a name/],
  [provider({}, "exchange"), /OIDC_PROVIDERS: .*except exchange/],
  [{ OIDC_PROVIDERS: '{"corp": {"clientSecret": "hush-hush"' }, /OIDC_PROVIDERS/],
  [provider({ clientSecret: ["hush-hush"] }), /OIDC_PROVIDERS/],
  [{ OIDC_RETURN_ORIGINS: "app.test" }, /OIDC_RETURN_ORIGINS/],
  [{ OIDC_RETURN_ORIGINS: "javascript:alert(1)" }, /OIDC_RETURN_ORIGINS/],
  [{ OIDC_RETURN_ORIGINS: "https://app.test,*" }, /OIDC_RETURN_ORIGINS/],
  [{ RESET_URL: "https://app.test/reset" }, RESET],
  [{ RESET_URL: "javascript:{token}" }, RESET],
  [{ RESET_URL: "{token}" }, RESET],
];

Deno.test("settings of senders, mail servers, providers and links are refused with their name and place, without secrets", () => {
  for (const [env, mistake] of REFUSED) {
    const { mistakes: [message = ""] } = mistakesOf(env);
    assert.match(message, mistake, JSON.stringify(env));
    assert.doesNotMatch(message, /hush/);
  }
  for (const MAIL_FROM of ["a@shop.example", "Shop <a@shop.example>", '"Shop, Lisbon" <a@localhost>']) {
    assert.equal(readConfig({ MAIL_FROM }).MAIL_FROM, MAIL_FROM);
  }
  readConfig({
    ...provider({ issuer: "http://127.0.0.1:9400" }),
    RESET_URL: "https://app.test/reset?t={token}",
  });
  const origins = { OIDC_RETURN_ORIGINS: "https://App.test/path, http://localhost:3000" };
  assert.deepEqual(readConfig(origins).OIDC_RETURN_ORIGINS, ["https://app.test", "http://localhost:3000"]);
});

Deno.test("every setting can be given by a file, which is named if it cannot be read", async () => {
  const folder = await Deno.makeTempDir({ prefix: "steward-secrets-" });
  const file = join(folder, "password");
  await Deno.writeTextFile(file, "from-a-file-12\n");
  const given = { BOOTSTRAP_ADMIN_PASSWORD_FILE: file };
  assert.equal(readConfig(given).BOOTSTRAP_ADMIN_PASSWORD, "from-a-file-12");
  const both = mistakesOf({ ...given, BOOTSTRAP_ADMIN_PASSWORD: "from-a-variable" });
  assert.deepEqual(both.mistakes, [
    "BOOTSTRAP_ADMIN_PASSWORD and BOOTSTRAP_ADMIN_PASSWORD_FILE are both set; expected one of them",
  ]);
  const missing = mistakesOf({ S3_SECRET_KEY_FILE: join(folder, "missing") });
  assert.deepEqual(missing.mistakes, [
    `S3_SECRET_KEY_FILE names the file ${join(folder, "missing")}, which cannot be read (NotFound)`,
  ]);
});

Deno.test("variables that look like a misspelled setting are found, other variables are not", () => {
  const env = {
    JOB_CONCURENCY: "4",
    SMTP_URLS_FILE: "/run/secrets/smtp",
    S3_BUCKETS: "a",
    DATABASE_URL: "postgres://h/d",
    DATABASE_URL_FILE: "/run/secrets/url",
    STEWARD_SERVICE_HOST: "10.0.0.1",
    HOSTS: "a",
    PATH: "/bin",
    HOME: "/root",
  };
  assert.deepEqual(misspelledSettings(env), [
    { name: "JOB_CONCURENCY", setting: "JOB_CONCURRENCY" },
    { name: "SMTP_URLS_FILE", setting: "SMTP_URL" },
    { name: "S3_BUCKETS", setting: "S3_BUCKET" },
  ]);
});

Deno.test("production refuses the secrets of development", () => {
  const { mistakes } = mistakesOf({
    STEWARD_ENV: "production",
    BOOTSTRAP_ADMIN_PASSWORD: SETTINGS.BOOTSTRAP_ADMIN_PASSWORD.development,
    WEBHOOK_SECRET: SETTINGS.WEBHOOK_SECRET.development,
  });
  const refused = mistakes.filter((mistake) => mistake.includes("everybody knows"));
  const names = ["BOOTSTRAP_ADMIN_PASSWORD", "WEBHOOK_SECRET"];
  assert.deepEqual(refused.map((mistake) => mistake.split(" ")[0]), names);
});

Deno.test("production warns of addresses without encryption, development does not", () => {
  const urls = {
    PUBLIC_URL: "http://steward.example.test",
    S3_PUBLIC_ENDPOINT: "https://files.example.test",
    S3_ENDPOINT: "http://10.0.0.7:9000",
  };
  const config = readConfig(urls);
  assert.deepEqual(unencryptedConnections(config), []);
  const warnings = unencryptedConnections({ ...config, isProduction: true });
  assert.deepEqual(warnings.map((text) => text.split(" ")[0]), ["PUBLIC_URL", "S3_ENDPOINT"]);
  assert.ok(!warnings.join().includes("example.test"), "warnings contain no values");
});

Deno.test("a provider needs few settings and has defaults", () => {
  assert.deepEqual(readConfig(provider({})).OIDC_PROVIDERS, {
    corp: {
      issuer: "https://id.test",
      clientId: "x",
      scopes: ["openid", "email", "profile"],
      clientAuthentication: "client_secret_basic",
      autoProvision: false,
      satisfiesSecondFactor: false,
    },
  });
});

Deno.test("token keys must be private keys, one of them Ed25519, and are never shown; an RSA key has at least 2048 bits", async () => {
  const [key, rsa] = [await generateTokenKey(), await rsaKey()];
  for (const keys of [[key, await generateTokenKey()], [key, rsa]]) {
    readConfig({ TOKEN_KEYS: JSON.stringify(keys) });
  }
  const given = (bits: number) => algorithmOf({ ...rsa, n: "A".repeat(Math.ceil(bits / 6)) });
  assert.deepEqual([given(2048), given(2040)], ["RS256", null]);
  const sets = [[], key, [rsa], [key, { ...rsa, d: "" }], [key, { ...rsa, n: "hush-hush" }]];
  const texts = ["hush-hush", '[{"kty":"RSA","d":"hush-hush"}]', '[{"d":"hush-hush"'];
  for (const text of [...sets.map((keys) => JSON.stringify(keys)), ...texts]) {
    const { message } = mistakesOf({ TOKEN_KEYS: text });
    assert.match(message, /TOKEN_KEYS: expected a JSON array/);
    assert.doesNotMatch(message, /hush/);
  }
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
