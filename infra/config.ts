import process from "node:process";
import type { z } from "zod";
import { type Setting, SETTINGS } from "./settings.ts";

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

/**
 * Parses the environment. Messages do not contain values, because they may be secrets.
 * @throws ConfigurationError that names every missing or malformed variable.
 */
export function readConfig(env: Record<string, string | undefined>): Config {
  const mode = env.STEWARD_ENV ?? "development";
  const isProduction = mode === "production";
  const mistakes: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries<Setting>(SETTINGS)) {
    const fallback = isProduction ? setting.production : setting.development;
    const text = env[name]?.trim() || (fallback ?? setting.default);
    if (text === undefined && isProduction && !setting.optional) {
      mistakes.push(`${name} is missing; production needs it: ${setting.meaning}`);
    }
    if (!text) {
      values[name] = null;
      continue;
    }
    const parsed = setting.schema.safeParse(text);
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
