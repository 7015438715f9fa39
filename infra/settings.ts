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
  /** What development uses when the variable is absent; the empty text: something it makes or embeds itself. */
  development?: string;
  /** What production uses when the variable is absent; without it, an absent variable is an error there. */
  production?: string;
  /** True where an absent variable is fine in production (the feature is off or derived). */
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
 * Every setting of the service: name, meaning, how it is read and what development assumes.
 * This table is the one source of parsing (`readConfig`) and of the table in README.md (`deno task config --readme`).
 */
export const SETTINGS = {
  STEWARD_ENV: setting(
    z.enum(["development", "production"]),
    "`development` embeds what is absent; `production` refuses to start without it",
    { development: "development", production: "development" },
  ),
  PORT: setting(port, "Port of the HTTP listener; 0 picks a free one", {
    development: "8000",
    production: "8000",
  }),
  HOST: setting(z.string().min(1), "Address the HTTP listener binds", {
    development: "127.0.0.1",
    production: "0.0.0.0",
  }),
  PUBLIC_URL: setting(
    url(["http:", "https:"]),
    "Base URL callers reach the service by; issuer of tokens, root of problem types and of links in mail",
    { development: "" },
  ),
  DATA_DIR: setting(z.string().min(1), "Folder everything embedded lives under", {
    development: ".data",
    production: ".data",
  }),
  LOG_LEVEL: setting(z.enum(["debug", "info", "warn", "error", "off"]), "Least level that is logged", {
    development: "info",
    production: "info",
  }),
  DATABASE_URL: setting(
    url(["postgres:", "postgresql:"]),
    "Postgres 14 or later; absent in development: embedded",
    { development: "" },
  ),
  DATABASE_POOL: setting(positive.max(200), "Most connections to Postgres of one instance", {
    development: "10",
    production: "10",
  }),
  DATABASE_LISTEN: setting(
    flag,
    "`false` behind PgBouncer in transaction mode: polling takes over from LISTEN, and statements are not prepared",
    { development: "true", production: "true" },
  ),
  MIGRATE_ON_START: setting(flag, "Run pending migrations before taking requests", {
    development: "true",
    production: "false",
  }),
  BOOTSTRAP_ADMIN_EMAIL: setting(z.email(), "First administrator, made when the database is empty", {
    development: "admin@steward.local",
  }),
  BOOTSTRAP_ADMIN_PASSWORD: setting(z.string().min(10).max(128), "Password of the first administrator", {
    development: "steward-admin-dev",
  }),
  TRUSTED_PROXIES: setting(
    z.coerce.number().int().min(0).max(10),
    "How many reverse proxies in front add to X-Forwarded-For; 0: the connection's own address counts",
    { development: "0", production: "0" },
  ),
  CORS_ORIGINS: setting(
    corsOrigins,
    "Comma-separated origins whose pages may call the API from a browser, or `*`; absent: none but its own",
    { optional: true },
  ),
  RATE_LIMIT_PER_MINUTE: setting(
    z.coerce.number().int().min(0),
    "Requests a minute of one caller, by each instance; 0: no limit",
    { development: "0", production: "1200" },
  ),
  RATE_LIMIT_ANONYMOUS_PER_MINUTE: setting(
    z.coerce.number().int().min(0),
    "Requests a minute without a valid token of one address (IPv6: one /64), by each instance; 0: no limit",
    { development: "0", production: "600" },
  ),
  REQUEST_TIMEOUT_SECONDS: setting(
    positive.max(3600),
    "Seconds after which a request that is not answered yet is answered 503; streams go on",
    { development: "90", production: "90" },
  ),
  DIRECT_SEND_SECONDS: setting(
    positive.max(3600),
    "Seconds a direct email or push message waits for its provider; then it is answered `Sending` and goes on",
    { development: "20", production: "20" },
  ),
  BODY_TIMEOUT_SECONDS: setting(
    positive.max(3600),
    "Seconds within which a request's body must have come in full",
    { development: "30", production: "30" },
  ),
  TOKEN_KEYS: setting(
    z.string().refine(isKeyList, "expected a JSON array of at least one Ed25519 private JWK"),
    "JSON array of Ed25519 private JWKs, newest first; two may be live for rotation",
    { development: "" },
  ),
  TOKEN_AUDIENCE: setting(z.string().min(1), "Audience of access tokens", {
    development: "steward",
    production: "steward",
  }),
  RESET_URL: setting(
    z.string().refine(isResetUrl, "expected an http(s) URL that contains {token}"),
    "Page that password-reset mail links to, `{token}` in it; absent: the service's own page",
    { optional: true },
  ),
  OIDC_PROVIDERS: setting(
    json(openIdProviders),
    "JSON object of OpenID providers by name: `{issuer, clientId, clientSecret, displayName, scopes, clientAuthentication, autoProvision}`",
    { optional: true },
  ),
  OIDC_RETURN_ORIGINS: setting(
    origins,
    "Comma-separated origins besides PUBLIC_URL's that an OpenID sign-in may send the browser back to",
    { optional: true },
  ),
  S3_ENDPOINT: setting(
    url(["http:", "https:"]),
    "S3-compatible endpoint the service uses; absent in development: embedded",
    { development: "" },
  ),
  S3_PUBLIC_ENDPOINT: setting(url(["http:", "https:"]), "Endpoint signed URLs name; absent: S3_ENDPOINT", {
    optional: true,
  }),
  S3_REGION: setting(z.string().min(1), "Region of the bucket", { development: "us-east-1" }),
  S3_BUCKET: setting(z.string().min(3), "Bucket of all file content", { development: "steward" }),
  S3_ACCESS_KEY: setting(z.string().min(1), "Access key of the bucket", { development: "" }),
  S3_SECRET_KEY: setting(z.string().min(1), "Secret key of the bucket", { development: "" }),
  S3_PATH_STYLE: setting(flag, "`true`: bucket in the path; `false`: bucket in the host name", {
    development: "true",
    production: "false",
  }),
  S3_EMBEDDED_PORT: setting(port, "Port of the embedded object store; 0 picks a free one", {
    development: "0",
    optional: true,
  }),
  FILE_PROFILES: setting(z.string(), "JSON object overriding file profiles (types, ceilings)", {
    optional: true,
  }),
  SCANNER: setting(z.enum(["clamd", "yara"]), "Scan engine: ClamAV's daemon, or YARA-X in process", {
    development: "yara",
  }),
  CLAMD_HOST: setting(z.string().min(1), "Host of clamd (SCANNER=clamd)", { optional: true }),
  CLAMD_PORT: setting(port, "Port of clamd", { development: "3310", production: "3310" }),
  YARA_RULES_DIR: setting(
    z.string().min(1),
    "Folder of YARA rules (SCANNER=yara); absent: the shipped rules",
    { optional: true },
  ),
  SMTP_URL: setting(
    urlList(["smtp:", "smtps:"]),
    "Mail server, or several in failover order, comma-separated; absent in development: the outbox at /dev/outbox",
    { development: "" },
  ),
  MAIL_FROM: setting(z.string().min(3), "Sender of mail, `Name <address>` or an address", {
    development: "Steward <steward@localhost>",
  }),
  FCM_SERVICE_ACCOUNT: setting(
    json(fcmServiceAccount),
    "Push: JSON key of the Firebase project's service account; absent: the outbox in development, no push in production",
    { development: "", optional: true },
  ),
  FCM_URL: setting(safeUrl, "Push: another endpoint than https://fcm.googleapis.com", {
    optional: true,
  }),
  SMS_URL: setting(
    smsUrls,
    "SMS: Twilio-compatible gateway `https://ACCOUNT_SID:AUTH_TOKEN@api.twilio.com?from=NUMBER` (or `messagingService=MG…`), or several in failover order, comma-separated; absent: the outbox in development, no SMS in production",
    { development: "", optional: true },
  ),
  KV_PATH: setting(
    z.string().min(1),
    "Deno KV file; absent: in DATA_DIR (development), the platform's own (production)",
    { optional: true },
  ),
  REPORT_TEMPLATES_DIR: setting(
    z.string().min(1),
    "Folder of report templates of the deployment's own; absent: the built-in ones only",
    { optional: true },
  ),
  REPORT_CONCURRENCY: setting(
    z.coerce.number().int().min(1).max(100),
    "Report documents made at once by this instance; each holds a connection beyond DATABASE_POOL",
    { development: "2", production: "2" },
  ),
  REPORT_KEEP_DAYS: setting(
    positive.max(36_500),
    "Days after which a report's document is let go for the file registry to collect",
    { development: "90", production: "90" },
  ),
  REPORT_SCHEDULE_FAILURES: setting(
    positive.max(1_000),
    "Failed runs in a row after which a report schedule pauses itself",
    { development: "5", production: "5" },
  ),
  WEBHOOK_SECRET: setting(
    z.string().regex(
      /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/,
      "expected whsec_ and the base64 of 24 to 64 bytes",
    ),
    "Key webhooks are signed with (Standard Webhooks); absent: no delivery by webhook",
    { development: "whsec_c3Rld2FyZC1kZXZlbG9wbWVudC13ZWJob29rLWtleQ==", optional: true },
  ),
  METRICS_TOKEN: setting(
    z.string().min(16),
    "Bearer token that Prometheus reads /metrics with; absent: as METRICS_PUBLIC says",
    { optional: true },
  ),
  METRICS_PUBLIC: setting(
    flag,
    "`true`: without METRICS_TOKEN, /metrics answers anyone; else it does not exist",
    {
      development: "true",
      production: "false",
    },
  ),
  JOB_CONCURRENCY: setting(
    z.coerce.number().int().min(0).max(1000),
    "Jobs run at once by this instance, messages on their way counting a quarter each; 0 runs none",
    { development: "20", production: "20" },
  ),
  JOB_QUEUES: setting(z.string(), "Comma-separated queues this instance works; absent: all", {
    optional: true,
  }),
  JOB_LEASE_SECONDS: setting(
    z.coerce.number().int().min(1).max(3600),
    "Seconds without a sign of life after which a worker counts as dead and its jobs run again",
    { development: "60", production: "60" },
  ),
  JOB_POLL_MS: setting(
    z.coerce.number().int().min(50).max(3_600_000),
    "Milliseconds between looks for due jobs of which no wake-up told; absent: 2000, without DATABASE_LISTEN 300",
    { optional: true },
  ),
  JOB_RETENTION_DAYS: setting(
    positive.max(3650),
    "Days that ended jobs and their executions are kept; dead letters stay until purged",
    { development: "30", production: "30" },
  ),
  OUTBOUND_ALLOW: setting(
    z.string().refine(isAllowList, { error: "expected hosts, host:port or CIDR ranges, comma-separated" }),
    "Private hosts that jobs and webhooks may call all the same: hosts, host:port or CIDR ranges",
    { optional: true },
  ),
} satisfies Record<string, Setting>;
