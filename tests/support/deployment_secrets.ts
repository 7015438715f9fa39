const { privateKey } = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]) as CryptoKeyPair;

/** Values of the secret settings that production needs, for tests of the files in scripts/deploy. */
export const SECRETS: Record<string, string> = {
  DATABASE_URL: "postgres://steward:secret@postgres:5432/steward",
  TOKEN_KEYS: JSON.stringify([await crypto.subtle.exportKey("jwk", privateKey)]),
  BOOTSTRAP_ADMIN_PASSWORD: "twelve-characters-or-more",
  S3_SECRET_KEY: "a-secret-key",
  SMTP_URL: "smtps://user:secret@mail.example.com",
};

/** The settings of an instance of `startSystem` with which it runs in production. */
export const PRODUCTION: Record<string, string> = {
  STEWARD_ENV: "production",
  S3_BUCKET: "steward",
  S3_REGION: "us-east-1",
  S3_PATH_STYLE: "true",
  SCANNER: "yara",
  MAIL_FROM: "Steward <steward@example.test>",
  BOOTSTRAP_ADMIN_EMAIL: "admin@steward.local",
  BOOTSTRAP_ADMIN_PASSWORD: "twelve-characters-or-more",
};
