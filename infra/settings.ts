import { z } from "zod";
import {
  corsOrigins,
  fcmServiceAccount,
  flag,
  isAllowList,
  isKeyList,
  isResetUrl,
  json,
  openIdProviders,
  origins,
  port,
  positive,
  safeUrl,
  smsUrls,
  url,
  urlList,
} from "./setting_shapes.ts";

export interface Setting<T extends z.ZodType = z.ZodType> {
  schema: T;
  meaning: string;
  /** Default in development. "": the service creates or embeds it. */
  development?: string;
  /** Default in production. Without it, an absent variable is an error in production. */
  production?: string;
  /** True if the variable may be absent in production (then the feature is off, or the value is derived). */
  optional?: true;
}

const setting = <T extends z.ZodType>(
  schema: T,
  meaning: string,
  rest: Omit<Setting, "schema" | "meaning">,
) => ({
  schema,
  meaning,
  ...rest,
});

/**
 * All settings of the service, with their schemas, meanings and defaults. `readConfig` parses them. The table in
 * infra/README.md is generated from them (`deno task config --readme`).
 */
export const SETTINGS = {
  STEWARD_ENV: setting(
    z.enum(["development", "production"]),
    "`development`: the service embeds missing parts; `production`: a missing setting is an error at start",
    { development: "development", production: "development" },
  ),
  PORT: setting(port, "Port of the HTTP server; 0: any free port", {
    development: "8000",
    production: "8000",
  }),
  HOST: setting(z.string().min(1), "Address the HTTP server listens on", {
    development: "127.0.0.1",
    production: "0.0.0.0",
  }),
  PUBLIC_URL: setting(
    url(["http:", "https:"]),
    "Public base URL of the service; issuer of tokens, prefix of problem types and of links in mail",
    { development: "" },
  ),
  DATA_DIR: setting(z.string().min(1), "Folder with the data of embedded parts", {
    development: ".data",
    production: ".data",
  }),
  LOG_LEVEL: setting(z.enum(["debug", "info", "warn", "error", "off"]), "Minimum log level", {
    development: "info",
    production: "info",
  }),
  DATABASE_URL: setting(
    url(["postgres:", "postgresql:"]),
    "Postgres 14 or later; absent in development: embedded",
    { development: "" },
  ),
  DATABASE_POOL: setting(positive.max(200), "Maximum number of connections to Postgres per instance", {
    development: "10",
    production: "10",
  }),
  DATABASE_LISTEN: setting(
    flag,
    "`false` behind PgBouncer in transaction mode: polling replaces LISTEN, and statements are not prepared",
    { development: "true", production: "true" },
  ),
  MIGRATE_ON_START: setting(flag, "Run pending migrations at start", {
    development: "true",
    production: "false",
  }),
  BOOTSTRAP_ADMIN_EMAIL: setting(z.email(), "First administrator, created if the database is empty", {
    development: "admin@steward.local",
  }),
  BOOTSTRAP_ADMIN_PASSWORD: setting(z.string().min(10).max(128), "Password of the first administrator", {
    development: "steward-admin-dev",
  }),
  TRUSTED_PROXIES: setting(
    z.coerce.number().int().min(0).max(10),
    "Number of reverse proxies that append to X-Forwarded-For; 0: the address of the connection is used",
    { development: "0", production: "0" },
  ),
  CORS_ORIGINS: setting(
    corsOrigins,
    "Comma-separated origins whose pages may call the API, or `*`; absent: only the service's own origin",
    { optional: true },
  ),
  RATE_LIMIT_PER_MINUTE: setting(
    z.coerce.number().int().min(0),
    "Requests per minute and caller, counted per instance; 0: no limit",
    { development: "0", production: "1200" },
  ),
  RATE_LIMIT_ANONYMOUS_PER_MINUTE: setting(
    z.coerce.number().int().min(0),
    "Requests without a valid token per minute and address (IPv6: /64), counted per instance; 0: no limit",
    { development: "0", production: "600" },
  ),
  REQUEST_TIMEOUT_SECONDS: setting(
    positive.max(3600),
    "Seconds after which an unanswered request gets 503; does not apply to streams",
    { development: "90", production: "90" },
  ),
  DIRECT_SEND_SECONDS: setting(
    positive.max(3600),
    "Seconds a direct email or push request waits for the provider; then the answer is `Sending`, and the delivery continues",
    { development: "20", production: "20" },
  ),
  BODY_TIMEOUT_SECONDS: setting(
    positive.max(3600),
    "Seconds within which the whole request body must arrive",
    { development: "30", production: "30" },
  ),
  TOKEN_KEYS: setting(
    z.string().refine(isKeyList, "expected a JSON array of at least one Ed25519 private JWK"),
    "JSON array of Ed25519 private JWKs; the first signs, all verify; two during a rotation",
    { development: "" },
  ),
  TOKEN_AUDIENCE: setting(z.string().min(1), "Audience of access tokens", {
    development: "steward",
    production: "steward",
  }),
  RESET_URL: setting(
    z.string().refine(isResetUrl, "expected an http(s) URL that contains {token}"),
    "URL in password-reset mail, with the placeholder `{token}`; absent: the service's own page",
    { optional: true },
  ),
  OIDC_PROVIDERS: setting(
    json(openIdProviders),
    "JSON object of OpenID providers by name: `{issuer, clientId, clientSecret, displayName, scopes, clientAuthentication, autoProvision}`",
    { optional: true },
  ),
  OIDC_RETURN_ORIGINS: setting(
    origins,
    "Comma-separated origins, besides that of PUBLIC_URL, to which an OpenID sign-in may redirect the browser",
    { optional: true },
  ),
  S3_ENDPOINT: setting(
    url(["http:", "https:"]),
    "S3-compatible endpoint for the service's own requests; absent in development: embedded",
    { development: "" },
  ),
  S3_PUBLIC_ENDPOINT: setting(url(["http:", "https:"]), "Endpoint in signed URLs; absent: S3_ENDPOINT", {
    optional: true,
  }),
  S3_REGION: setting(z.string().min(1), "Region of the bucket", { development: "us-east-1" }),
  S3_BUCKET: setting(z.string().min(3), "Bucket for all files", { development: "steward" }),
  S3_ACCESS_KEY: setting(z.string().min(1), "Access key of the bucket", { development: "" }),
  S3_SECRET_KEY: setting(z.string().min(1), "Secret key of the bucket", { development: "" }),
  S3_PATH_STYLE: setting(flag, "`true`: bucket in the path; `false`: bucket in the host name", {
    development: "true",
    production: "false",
  }),
  S3_EMBEDDED_PORT: setting(port, "Port of the embedded object store; 0: any free port", {
    development: "0",
    optional: true,
  }),
  FILE_PROFILES: setting(
    z.string(),
    "JSON object that overrides file profiles (allowed types, maximum sizes)",
    {
      optional: true,
    },
  ),
  SCANNER: setting(z.enum(["clamd", "yara"]), "Scan engine: `clamd` (ClamAV), or `yara` (YARA-X, embedded)", {
    development: "yara",
  }),
  CLAMD_HOST: setting(z.string().min(1), "Host of clamd (SCANNER=clamd)", { optional: true }),
  CLAMD_PORT: setting(port, "Port of clamd", { development: "3310", production: "3310" }),
  YARA_RULES_DIR: setting(
    z.string().min(1),
    "Folder of YARA rules (SCANNER=yara); absent: the built-in rules",
    { optional: true },
  ),
  SMTP_URL: setting(
    urlList(["smtp:", "smtps:"]),
    "Mail server URL, or several in failover order, comma-separated; absent in development: the outbox at /dev/outbox",
    { development: "" },
  ),
  MAIL_FROM: setting(z.string().min(3), "Sender of mail: `Name <address>` or an address", {
    development: "Steward <steward@localhost>",
  }),
  FCM_SERVICE_ACCOUNT: setting(
    json(fcmServiceAccount),
    "Push: JSON key of the Firebase project's service account; absent: the outbox in development, no push in production",
    { development: "", optional: true },
  ),
  FCM_URL: setting(safeUrl, "Push: endpoint; absent: https://fcm.googleapis.com", {
    optional: true,
  }),
  SMS_URL: setting(
    smsUrls,
    "SMS: Twilio-compatible gateway `https://ACCOUNT_SID:AUTH_TOKEN@api.twilio.com?from=NUMBER` (or `messagingService=MG…`), or several in failover order, comma-separated; absent: the outbox in development, no SMS in production",
    { development: "", optional: true },
  ),
  KV_PATH: setting(
    z.string().min(1),
    "Deno KV file; absent: a file in DATA_DIR (development), the platform's KV (production)",
    { optional: true },
  ),
  REPORT_TEMPLATES_DIR: setting(
    z.string().min(1),
    "Folder of your own report templates; absent: only the built-in ones",
    { optional: true },
  ),
  REPORT_CONCURRENCY: setting(
    z.coerce.number().int().min(1).max(100),
    "Reports that this instance generates concurrently; each uses a connection in addition to DATABASE_POOL",
    { development: "2", production: "2" },
  ),
  REPORT_KEEP_DAYS: setting(
    positive.max(36_500),
    "Days after which a report's document is released, so that file retention can delete it",
    { development: "90", production: "90" },
  ),
  REPORT_SCHEDULE_FAILURES: setting(
    positive.max(1_000),
    "Consecutive failed runs after which a report schedule is paused",
    { development: "5", production: "5" },
  ),
  WEBHOOK_SECRET: setting(
    z.string().regex(
      /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/,
      "expected whsec_ and the base64 of 24 to 64 bytes",
    ),
    "Key that signs the webhooks of reports (Standard Webhooks); absent: no delivery by webhook",
    { development: "whsec_c3Rld2FyZC1kZXZlbG9wbWVudC13ZWJob29rLWtleQ==", optional: true },
  ),
  METRICS_TOKEN: setting(
    z.string().min(16),
    "Bearer token for /metrics; absent: METRICS_PUBLIC decides",
    { optional: true },
  ),
  METRICS_PUBLIC: setting(
    flag,
    "Without METRICS_TOKEN: `true` makes /metrics public, `false` disables it",
    {
      development: "true",
      production: "false",
    },
  ),
  JOB_CONCURRENCY: setting(
    z.coerce.number().int().min(0).max(1000),
    "Jobs that this instance runs concurrently; a message delivery counts as a quarter; 0: runs no jobs",
    { development: "20", production: "20" },
  ),
  JOB_QUEUES: setting(z.string(), "Comma-separated queues that this instance works on; absent: all", {
    optional: true,
  }),
  JOB_LEASE_SECONDS: setting(
    z.coerce.number().int().min(1).max(3600),
    "Seconds without a heartbeat after which a worker counts as dead and its jobs run again",
    { development: "60", production: "60" },
  ),
  JOB_POLL_MS: setting(
    z.coerce.number().int().min(50).max(3_600_000),
    "Interval of polling for due jobs, in milliseconds; absent: 2000, or 300 if DATABASE_LISTEN is `false`",
    { optional: true },
  ),
  JOB_RETENTION_DAYS: setting(
    positive.max(3650),
    "Days to keep finished jobs and their executions; dead letters stay until they are purged",
    { development: "30", production: "30" },
  ),
  OUTBOUND_ALLOW: setting(
    z.string().refine(isAllowList, { error: "expected hosts, host:port or CIDR ranges, comma-separated" }),
    "Private addresses that jobs and webhooks may call: hosts, host:port or CIDR ranges, comma-separated",
    { optional: true },
  ),
} satisfies Record<string, Setting>;
