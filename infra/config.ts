import process from "node:process";
import type { z } from "zod";
import { AREA_NAMES, keepsFiles } from "./areas.ts";
import type { Setting } from "./setting_shapes.ts";
import { SETTINGS } from "./settings.ts";
import { isNear } from "./similar_names.ts";

export type { OpenIdSettings } from "./setting_shapes.ts";

type Settings = typeof SETTINGS;
/** The value of a setting. Null if it may be absent in production, or if the service creates it in development. */
type Value<S extends Setting> =
  | z.output<S["schema"]>
  | (S extends { optional: true } | { development: "" } ? null : never);

/** The parsed settings by name. */
export type Config = { [K in keyof Settings]: Value<Settings[K]> } & { isProduction: boolean };

/** Thrown by `readConfig`. The message lists every mistake on a line of its own. */
export class ConfigurationError extends Error {
  override name = "ConfigurationError";
  constructor(readonly mistakes: string[]) {
    super(
      `the configuration has ${mistakes.length} mistake(s):\n${mistakes.map((m) => `  - ${m}`).join("\n")}`,
    );
  }
}

/** Secrets with a default in development. */
const PUBLIC_DEFAULTS: ReadonlySet<string> = new Set(["BOOTSTRAP_ADMIN_PASSWORD", "WEBHOOK_SECRET"]);

/** With this suffix, a variable names a file that contains the value of the setting. */
const FILE = "_FILE";

/**
 * Parses the environment. A setting is given by its variable, such as `SMTP_URL`, or by the content of the file that
 * `SMTP_URL_FILE` names. Messages do not contain values, because they may be secrets.
 * @throws ConfigurationError that names every missing or malformed variable.
 */
export function readConfig(env: Record<string, string | undefined>): Config {
  const mode = env.STEWARD_ENV ?? "development";
  const isProduction = mode === "production";
  const mistakes: string[] = [];
  const values: Record<string, unknown> = { AREAS: new Set(AREA_NAMES) };
  for (const [name, setting] of Object.entries<Setting>(SETTINGS)) {
    const isNeeded = !setting.ofFiles || keepsFiles(values as Pick<Config, "AREAS">);
    const fallback = isProduction && isNeeded ? setting.production : setting.development;
    const found = given(env, name, mistakes);
    const text = found || (fallback ?? setting.default);
    if (found !== null && text === undefined && isProduction && !setting.optional) {
      mistakes.push(`${name} is missing; production needs it: ${setting.meaning}`);
    }
    if (!text || found === null) {
      values[name] = null;
      continue;
    }
    if (isProduction && PUBLIC_DEFAULTS.has(name) && text === setting.development) {
      mistakes.push(
        `${name} has the value of development, which everybody knows; production needs another one`,
      );
    }
    const parsed = setting.schema.safeParse(text);
    if (parsed.success) values[name] = parsed.data;
    else mistakes.push(`${name}: ${parsed.error.issues.map(describe).join("; ")}`);
  }
  if (values.SCANNER === "clamd" && !values.CLAMD_HOST && !mistakes.some((m) => m.startsWith("CLAMD_HOST"))) {
    mistakes.push("CLAMD_HOST is missing; SCANNER=clamd needs it");
  }
  if (values.ARCHIVE && !keepsFiles(values as Pick<Config, "AREAS">)) {
    mistakes.push("ARCHIVE needs the bucket; AREAS has neither files nor reports");
  }
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  return { ...values, isProduction } as Config;
}

/** The text of a setting, from its variable or its file; null with a mistake if the file cannot be read. */
function given(
  env: Record<string, string | undefined>,
  name: string,
  mistakes: string[],
): string | undefined | null {
  const path = env[name + FILE];
  const text = env[name]?.trim();
  if (!path) return text;
  if (text) {
    mistakes.push(`${name} and ${name + FILE} are both set; expected one of them`);
    return text;
  }
  try {
    return Deno.readTextFileSync(path).trim();
  } catch (error) {
    mistakes.push(`${name + FILE} names the file ${path}, which cannot be read (${(error as Error).name})`);
    return null;
  }
}

/**
 * The text of one setting, for scripts that need few of them.
 * @throws ConfigurationError if its file cannot be read
 */
export function settingText(name: keyof Settings): string | undefined {
  const mistakes: string[] = [];
  const env = { [name]: process.env[name], [name + FILE]: process.env[name + FILE] };
  const text = given(env, name, mistakes);
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  return text || undefined;
}

/** Variables that look like a misspelled setting, each with the setting's name. */
export function misspelledSettings(
  env: Record<string, string | undefined>,
): { name: string; setting: string }[] {
  const settings = Object.keys(SETTINGS).filter((setting) => setting.length >= 8); // HOST is near to too many names
  const known = new Set(Object.keys(SETTINGS).flatMap((setting) => [setting, setting + FILE]));
  return Object.keys(env).filter((name) => !known.has(name)).flatMap((name) => {
    const setting = settings.find((each) => isNear(name, each) || isNear(name, each + FILE));
    return setting === undefined ? [] : [{ name, setting }];
  });
}

/** Warnings about URLs by which clients would send secrets and data without encryption in production. */
export const unencryptedConnections = (config: Config): string[] =>
  (["PUBLIC_URL", "S3_PUBLIC_ENDPOINT", "S3_ENDPOINT"] as const)
    .filter((name) => config.isProduction && config[name]?.startsWith("http:"))
    .map((name) =>
      `${name} is an http URL: what it transports can be read and changed on the way; use https`
    );

/** The message of an issue. In JSON values, the path of the invalid member comes first. */
/** A number alone is the place in a comma-separated list. */
function describe({ path, message }: z.core.$ZodIssue): string {
  if (path.length === 0) return message;
  const [first] = path;
  const place = path.length === 1 && typeof first === "number" ? `entry ${first + 1}` : path.join(".");
  return `${place}: ${message}`;
}

/** The process environment, in the form `readConfig` expects. */
export const processEnv = (): Record<string, string | undefined> => ({ ...process.env });
