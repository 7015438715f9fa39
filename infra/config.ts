import process from "node:process";
import type { z } from "zod";
import { type Setting, SETTINGS } from "./settings.ts";

export type { OpenIdSettings } from "./setting_shapes.ts";

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
        | "TRUSTED_PROXIES"
        | "RATE_LIMIT_PER_MINUTE"
        | "RATE_LIMIT_ANONYMOUS_PER_MINUTE"
        | "REQUEST_TIMEOUT_SECONDS"
        | "DIRECT_SEND_SECONDS"
        | "BODY_TIMEOUT_SECONDS"
        | "S3_REGION"
        | "S3_BUCKET"
        | "S3_PATH_STYLE"
        | "SCANNER"
        | "CLAMD_PORT"
        | "MAIL_FROM"
        | "REPORT_CONCURRENCY"
        | "REPORT_KEEP_DAYS"
        | "REPORT_SCHEDULE_FAILURES"
        | "JOB_CONCURRENCY"
        | "JOB_LEASE_SECONDS"
        | "JOB_RETENTION_DAYS"
    ]: NonNullable<Raw[K]>;
  }
  & { isProduction: boolean };

/** Thrown by `readConfig`. The message lists every mistake on a line of its own. */
export class ConfigurationError extends Error {
  override name = "ConfigurationError";
  constructor(readonly mistakes: string[]) {
    super(
      `the configuration has ${mistakes.length} mistake(s):\n${mistakes.map((m) => `  - ${m}`).join("\n")}`,
    );
  }
}

/**
 * Parses the environment. Messages do not contain values, because they may be secrets.
 * @throws ConfigurationError that names every missing or malformed variable.
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
    else mistakes.push(`${name}: ${parsed.error.issues.map(describe).join("; ")}`);
  }
  if (values.SCANNER === "clamd" && !values.CLAMD_HOST && !mistakes.some((m) => m.startsWith("CLAMD_HOST"))) {
    mistakes.push("CLAMD_HOST is missing; SCANNER=clamd needs it");
  }
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  return { ...values, isProduction } as Config;
}

/** The message of an issue. In JSON values, the path of the invalid member comes first. */
const describe = ({ path, message }: z.core.$ZodIssue): string =>
  path.length > 0 ? `${path.join(".")}: ${message}` : message;

/** The process environment, in the form `readConfig` expects. */
export const processEnv = (): Record<string, string | undefined> => ({ ...process.env });
