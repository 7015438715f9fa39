import { z } from "zod";
import { AREA_NAMES } from "./areas.ts";
import { SIGNING_SECRET, SIGNING_SECRET_EXPECTED } from "./http_out/signing_secret.ts";
import {
  archiveKinds,
  areas,
  corsOrigins,
  databaseUrl,
  flag,
  isAllowList,
  isKeyList,
  isResetUrl,
  json,
  keys32,
  MESSAGE_SETTINGS,
  openIdProviders,
  origins,
  paths,
  port,
  positive,
  secretText,
  type Setting,
  url,
} from "./setting_shapes.ts";
import { isMailAddress } from "./mail/mail_address.ts";

/**
 * All settings of the service. The type `Config`, its parser `readConfig` and the table in infra/README.md
 * (`deno task config --readme`) follow from this list.
 */
export const SETTINGS = {
  STEWARD_ENV: {
    schema: z.enum(["development", "production"]),
    meaning:
      "`development`: the service embeds missing parts; `production`: a missing setting is an error at start",
    default: "development",
  },
  AREAS: {
    schema: areas,
    meaning:
      "Areas of the product that are on, comma-separated; those that are off have no routes, pages, jobs and connections, see below",
    default: AREA_NAMES.join(","),
  },
  PORT: { schema: port, meaning: "Port of the HTTP server; 0: any free port", default: "8000" },
  HOST: {
    schema: z.string().min(1),
    meaning: "Address the HTTP server listens on",
    development: "127.0.0.1",
    production: "0.0.0.0",
  },
  PUBLIC_URL: {
    schema: url(["http:", "https:"]),
    meaning: "Public base URL of the service; issuer of tokens, prefix of problem types and of links in mail",
    development: "",
  },
  DATA_DIR: {
    schema: z.string().min(1),
    meaning: "Folder with the data of embedded parts",
    default: ".data",
  },
  LOG_LEVEL: {
    schema: z.enum(["debug", "info", "warn", "error", "off"]),
    meaning: "Minimum log level",
    default: "info",
  },
  DATABASE_URL: {
    schema: databaseUrl,
    meaning:
      "Postgres 14 or later; several hosts (`host1:5432,host2:5432`): the one that is the primary; a socket by its folder (`%2Frun%2Fpostgresql`); absent in development: embedded",
    development: "",
  },
  DATABASE_REPLICA_URL: {
    schema: databaseUrl,
    meaning:
      "Read replica for reports and for lists of the console; several hosts: any of them; absent: none",
    optional: true,
  },
  DATABASE_REPLICA_MAX_LAG_SECONDS: {
    schema: z.coerce.number().min(0).max(3_600),
    meaning: "Maximum age of the replica's data; if it is older, the replica is not used",
    default: "5",
  },
  DATABASE_POOL: {
    schema: positive.max(200),
    meaning:
      "Maximum number of connections to Postgres per instance; from 6 on, two of them are only for reads by key, and from 8 on two only for the job engine, if the instance runs jobs",
    default: "10",
  },
  DATABASE_LISTEN: {
    schema: flag,
    meaning:
      "`false` behind PgBouncer in transaction mode: polling replaces LISTEN, and statements are not prepared",
    default: "true",
  },
  MIGRATE_ON_START: {
    schema: flag,
    meaning: "Run pending migrations at start",
    development: "true",
    production: "false",
  },
  BOOTSTRAP_ADMIN_EMAIL: {
    schema: z.string().refine(isMailAddress, "expected an email address"),
    meaning: "First administrator, created if the database is empty",
    development: "admin@steward.local",
  },
  BOOTSTRAP_ADMIN_PASSWORD: {
    schema: z.string().min(1).max(128),
    meaning: "Password of the first administrator; follows the password rules",
    development: "steward-admin-dev",
  },
  TRUSTED_PROXIES: {
    schema: z.coerce.number().int().min(0).max(10),
    meaning:
      "Number of reverse proxies that append to X-Forwarded-For; 0: the address of the connection is used",
    default: "0",
  },
  CORS_ORIGINS: {
    schema: corsOrigins,
    meaning:
      "Comma-separated origins whose pages may call the API, or `*`; absent: only the service's own origin",
    optional: true,
  },
  RATE_LIMIT_PER_MINUTE: {
    schema: z.coerce.number().int().min(0),
    meaning: "Requests per minute and caller, counted per instance; 0: no limit",
    development: "0",
    production: "1200",
  },
  RATE_LIMIT_ANONYMOUS_PER_MINUTE: {
    schema: z.coerce.number().int().min(0),
    meaning:
      "Requests without a valid token per minute and address (IPv6: /64), counted per instance; 0: no limit",
    development: "0",
    production: "600",
  },
  REQUEST_TIMEOUT_SECONDS: {
    schema: positive.max(3600),
    meaning: "Seconds after which an unanswered request gets 503; does not apply to streams",
    default: "90",
  },
  MAX_RUNNING_REQUESTS: {
    schema: positive.max(100_000),
    meaning:
      "Requests in work or waiting for their start on an instance at the same time, without polls and streams, at most a fifth of them of one caller or address; further ones get 503",
    default: "1000",
  },
  MAX_WAITING_REQUESTS: {
    schema: positive.max(100_000),
    meaning:
      "Polls and streams that are open on an instance at the same time, at most a fifth of them of one caller; as many bodies may be arriving, a fifth of them from one address; further ones get 503",
    default: "10000",
  },
  DIRECT_SEND_SECONDS: {
    schema: positive.max(3600),
    meaning:
      "Seconds a direct email or push request waits for the provider; then the answer is `Sending`, and the delivery continues",
    default: "20",
  },
  BODY_TIMEOUT_SECONDS: {
    schema: positive.max(3600),
    meaning: "Seconds within which the whole request body must arrive",
    default: "30",
  },
  TOKEN_KEYS: {
    schema: z.string().refine(
      isKeyList,
      "expected a JSON array of at least one Ed25519 private JWK; the OpenID provider also needs an RSA one",
    ),
    meaning:
      "JSON array of private JWKs: Ed25519 and, for the OpenID provider, RSA; the first of each kind signs, all verify; two of a kind during a rotation. `deno task rotate-keys create` makes the first ones",
    development: "",
  },
  TOKEN_AUDIENCE: { schema: z.string().min(1), meaning: "Audience of access tokens", default: "steward" },
  FACTOR_KEYS: {
    schema: keys32,
    meaning:
      "Comma-separated keys that encrypt the secrets of authenticator apps, each 32 bytes in base64 (`openssl rand -base64 32`); the first encrypts, all decrypt; absent in production: no authenticator apps",
    development: "c3Rld2FyZC1kZXZlbG9wbWVudC1mYWN0b3Ita2V5ISE=",
    optional: true,
  },
  TARGET_KEYS: {
    schema: keys32,
    meaning:
      "Comma-separated keys that encrypt the credentials of report targets and the client secrets of tenants' identity providers, each 32 bytes in base64 (`openssl rand -base64 32`); the first encrypts, all decrypt; absent in production: neither",
    development: "c3Rld2FyZC1kZXZlbG9wbWVudC10YXJnZXQta2V5ISE=",
    optional: true,
  },
  REQUIRE_SECOND_FACTOR_FOR_PLATFORM: {
    schema: flag,
    meaning: "`true`: users with permissions that reach every tenant need a second factor",
    default: "false",
  },
  STEP_UP_MINUTES: {
    schema: positive.max(1440),
    meaning:
      "Minutes after a sign-in within which users with a second factor may create credentials without proving it again",
    default: "15",
  },
  RESET_URL: {
    schema: z.string().refine(isResetUrl, "expected an http(s) URL that contains {token}"),
    meaning: "URL in password-reset mail, with the placeholder `{token}`; absent: the service's own page",
    optional: true,
  },
  BREACHED_PASSWORDS: {
    schema: z.string().min(1),
    meaning:
      "File or folder of breached passwords that nobody may choose, in the formats of Have I Been Pwned; see domain/access/passwords/README.md",
    optional: true,
  },
  INVITATION_URL: {
    schema: z.string().refine(isResetUrl, "expected an http(s) URL that contains {token}"),
    meaning: "URL in invitation mail, with the placeholder `{token}`; absent: the service's own page",
    optional: true,
  },
  OIDC_PROVIDERS: {
    schema: json(openIdProviders),
    meaning:
      "JSON object of OpenID providers by name: `{issuer, clientId, clientSecret, displayName, scopes, clientAuthentication, autoProvision, satisfiesSecondFactor}`",
    optional: true,
  },
  OIDC_RETURN_ORIGINS: {
    schema: origins,
    meaning:
      "Comma-separated origins, besides that of PUBLIC_URL, to which an OpenID sign-in may redirect the browser",
    optional: true,
  },
  S3_ENDPOINT: {
    schema: url(["http:", "https:"]),
    meaning: "S3-compatible endpoint for the service's own requests; absent in development: embedded",
    development: "",
    ofFiles: true,
  },
  S3_PUBLIC_ENDPOINT: {
    schema: url(["http:", "https:"]),
    meaning: "Endpoint in signed URLs; absent: S3_ENDPOINT",
    optional: true,
  },
  S3_REGION: {
    schema: z.string().min(1),
    meaning: "Region of the bucket",
    development: "us-east-1",
    ofFiles: true,
  },
  S3_BUCKET: {
    schema: z.string().min(3),
    meaning: "Bucket for all files",
    development: "steward",
    ofFiles: true,
  },
  S3_ACCESS_KEY: {
    schema: z.string().min(1),
    meaning: "Access key of the bucket",
    development: "",
    ofFiles: true,
  },
  S3_SECRET_KEY: {
    schema: z.string().min(1),
    meaning: "Secret key of the bucket",
    development: "",
    ofFiles: true,
  },
  S3_PATH_STYLE: {
    schema: flag,
    meaning: "`true`: bucket in the path; `false`: bucket in the host name",
    development: "true",
    production: "false",
  },
  S3_EMBEDDED_PORT: {
    schema: port,
    meaning: "Port of the embedded object store; 0: any free port",
    development: "0",
    optional: true,
  },
  FILE_PROFILES: {
    schema: z.string(),
    meaning: "JSON object that overrides file profiles (allowed types, maximum sizes, sizes of pictures)",
    optional: true,
  },
  SCANNER: {
    schema: z.enum(["clamd", "yara"]),
    meaning: "Scan engine: `clamd` (ClamAV), or `yara` (YARA-X, embedded)",
    development: "yara",
    ofFiles: true,
  },
  CLAMD_HOST: { schema: z.string().min(1), meaning: "Host of clamd (SCANNER=clamd)", optional: true },
  CLAMD_PORT: { schema: port, meaning: "Port of clamd", default: "3310" },
  YARA_RULES_DIR: {
    schema: z.string().min(1),
    meaning: "Folder of YARA rules (SCANNER=yara); absent: the built-in rules",
    optional: true,
  },
  ...MESSAGE_SETTINGS,
  KV_PATH: {
    schema: z.string().min(1),
    meaning: "Deno KV file; absent: a file in DATA_DIR (development), the platform's KV (production)",
    optional: true,
  },
  STEWARD_EXTENSIONS: {
    schema: paths,
    meaning: "Modules of your extensions, comma-separated, such as `./acme/mod.ts`; absent: none",
    optional: true,
  },
  REPORT_TEMPLATES_DIR: {
    schema: z.string().min(1),
    meaning: "Folder of your own report templates; absent: only the built-in ones",
    optional: true,
  },
  REPORT_CONCURRENCY: {
    schema: z.coerce.number().int().min(1).max(100),
    meaning:
      "Reports that this instance generates concurrently; each uses a connection in addition to DATABASE_POOL",
    default: "2",
  },
  REPORT_KEEP_DAYS: {
    schema: positive.max(36_500),
    meaning: "Days after which a report's document is released, so that file retention can delete it",
    default: "90",
  },
  REPORT_SCHEDULE_FAILURES: {
    schema: positive.max(1_000),
    meaning: "Consecutive failed runs after which a report schedule is paused",
    default: "5",
  },
  WEBHOOK_SECRET: {
    schema: z.string().regex(SIGNING_SECRET, SIGNING_SECRET_EXPECTED),
    meaning:
      "Key that signs the webhooks of reports (Standard Webhooks) of tenants without a secret of their own; absent: these have no signed webhooks",
    development: "whsec_c3Rld2FyZC1kZXZlbG9wbWVudC13ZWJob29rLWtleQ==",
    optional: true,
  },
  METRICS_TOKEN: {
    schema: secretText,
    meaning: "Bearer token for /metrics, at least 16 characters; absent: METRICS_PUBLIC decides",
    optional: true,
  },
  METRICS_PUBLIC: {
    schema: flag,
    meaning: "Without METRICS_TOKEN: `true` makes /metrics public, `false` disables it",
    development: "true",
    production: "false",
  },
  JOB_CONCURRENCY: {
    schema: z.coerce.number().int().min(0).max(1000),
    meaning:
      "Jobs that this instance runs concurrently; a message delivery counts as a quarter; what one tenant takes beyond half of the places keeps no other tenant's jobs waiting, so up to half more may run; 0: runs no jobs",
    default: "20",
  },
  JOB_QUEUES: {
    schema: z.string(),
    meaning: "Comma-separated queues that this instance works on; absent: all",
    optional: true,
  },
  JOB_LEASE_SECONDS: {
    schema: z.coerce.number().int().min(1).max(3600),
    meaning: "Seconds without a heartbeat after which a worker counts as dead and its jobs run again",
    default: "60",
  },
  JOB_POLL_MS: {
    schema: z.coerce.number().int().min(50).max(3_600_000),
    meaning:
      "Interval of polling for due jobs, in milliseconds; absent: 2000, or 300 if DATABASE_LISTEN is `false`",
    optional: true,
  },
  JOB_RETENTION_DAYS: {
    schema: positive.max(3650),
    meaning: "Days to keep finished jobs and their executions; dead letters stay until they are purged",
    default: "30",
  },
  ARCHIVE: {
    schema: archiveKinds,
    meaning:
      "Kinds of old rows (`jobs`, `messages`, `events`), comma-separated, that are written to the bucket as Parquet before they are deleted, see Cold data below; absent: none",
    optional: true,
  },
  MAINTENANCE_BATCH: {
    schema: z.coerce.number().int().min(1).max(10_000),
    meaning:
      "Maximum rows that a batch of a maintenance job (prune, sweep, retention) takes in one transaction",
    default: "1000",
  },
  MAINTENANCE_BUDGET_MS: {
    schema: z.coerce.number().int().min(10).max(60_000),
    meaning:
      "Milliseconds after which a maintenance job makes room for other jobs; it continues a moment later",
    default: "10000",
  },
  OUTBOUND_ALLOW: {
    schema: z.string().refine(isAllowList, {
      error: "expected hosts, host:port or CIDR ranges, comma-separated",
    }),
    meaning:
      "Private addresses that jobs and webhooks may call: hosts, host:port or CIDR ranges, comma-separated",
    optional: true,
  },
} as const satisfies Record<string, Setting>;
