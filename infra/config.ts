import process from "node:process";
import { z } from "zod";

/**
 * Every setting of the service: name, meaning, how it is read and what development assumes.
 * This table is the one source of parsing (`readConfig`) and of the README's table (`deno task config`).
 */
const flag = z.stringbool();
const port = z.coerce.number().int().min(0).max(65_535);
const positive = z.coerce.number().int().min(1);
const url = (protocols: string[]) =>
  z.url().refine((value) => protocols.includes(new URL(value).protocol), {
    error: `expected a URL beginning with ${protocols.join(" or ")}`,
  });

interface Setting<T extends z.ZodType = z.ZodType> {
  schema: T;
  meaning: string;
  /** What development uses when the variable is absent. */
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
    "Base URL callers reach the service by; issuer of tokens, root of problem types",
    { optional: true },
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
    "`false` where LISTEN does not work (PgBouncer in transaction mode): polling takes over",
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
  TOKEN_KEYS: setting(
    z.string().min(1),
    "JSON array of Ed25519 private JWKs, newest first; two may be live for rotation",
    { development: "" },
  ),
  TOKEN_AUDIENCE: setting(z.string().min(1), "Audience of access tokens", {
    development: "steward",
    production: "steward",
  }),
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
    url(["smtp:", "smtps:"]),
    "Mail server; absent in development: the outbox at /dev/outbox",
    { development: "" },
  ),
  MAIL_FROM: setting(z.string().min(3), "Sender of mail, `Name <address>` or an address", {
    development: "Steward <steward@localhost>",
  }),
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
  JOB_CONCURRENCY: setting(
    z.coerce.number().int().min(0).max(1000),
    "Jobs run at once by this instance; 0 runs none",
    { development: "20", production: "20" },
  ),
  JOB_QUEUES: setting(z.string(), "Comma-separated queues this instance works; absent: all", {
    optional: true,
  }),
} satisfies Record<string, Setting>;

type Settings = typeof SETTINGS;
type Raw = { [K in keyof Settings]: z.output<Settings[K]["schema"]> | null };
export type Config =
  & Raw
  & {
    [
      K in
        | "STEWARD_ENV"
        | "PORT"
        | "HOST"
        | "DATA_DIR"
        | "LOG_LEVEL"
        | "DATABASE_POOL"
        | "DATABASE_LISTEN"
        | "MIGRATE_ON_START"
        | "TOKEN_AUDIENCE"
        | "S3_REGION"
        | "S3_BUCKET"
        | "S3_PATH_STYLE"
        | "SCANNER"
        | "CLAMD_PORT"
        | "MAIL_FROM"
        | "REPORT_CONCURRENCY"
        | "REPORT_KEEP_DAYS"
        | "JOB_CONCURRENCY"
    ]: NonNullable<Raw[K]>;
  }
  & { isProduction: boolean };

/** Thrown by `readConfig`; its message lists every mistake, one a line. */
export class ConfigurationError extends Error {
  override name = "ConfigurationError";
  constructor(readonly mistakes: string[]) {
    super(
      `the configuration has ${mistakes.length} mistake(s):\n${mistakes.map((m) => `  - ${m}`).join("\n")}`,
    );
  }
}

/**
 * Parses the environment once. Values are never repeated in mistakes: they may be secrets.
 * @throws ConfigurationError naming every missing or malformed variable at once.
 */
export function readConfig(env: Record<string, string | undefined>): Config {
  const mode = env.STEWARD_ENV ?? "development";
  const isProduction = mode === "production";
  const mistakes: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, { schema, ...rest }] of Object.entries<Setting>(SETTINGS)) {
    const given = env[name]?.trim() || undefined;
    const fallback = isProduction ? rest.production : rest.development;
    const text = given ?? fallback;
    if (text === undefined && isProduction && !rest.optional) {
      mistakes.push(`${name} is missing; production needs it: ${rest.meaning}`);
    }
    if (!text) {
      values[name] = null;
      continue;
    }
    const parsed = schema.safeParse(text);
    if (parsed.success) values[name] = parsed.data;
    else mistakes.push(`${name}: ${parsed.error.issues.map((issue) => issue.message).join("; ")}`);
  }
  if (values.SCANNER === "clamd" && !values.CLAMD_HOST && !mistakes.some((m) => m.startsWith("CLAMD_HOST"))) {
    mistakes.push("CLAMD_HOST is missing; SCANNER=clamd needs it");
  }
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  return { ...values, isProduction } as Config;
}

/** The process environment as `readConfig` takes it. */
export const processEnv = (): Record<string, string | undefined> => ({ ...process.env });
