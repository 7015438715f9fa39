import { type Config, ConfigurationError, misspelledSettings, processEnv, readConfig } from "./config.ts";
import { createLog, redactText } from "./log.ts";

/**
 * A task runner forwards the terminal's Ctrl-C, so the process gets it twice. Signals within this time count as one.
 */
const SAME_SIGNAL_MS = 1_000;
/** Exit code for a mistake in the configuration (EX_CONFIG of sysexits.h). */
const CONFIGURATION_EXIT = 78;

/**
 * The configuration of this process. If it has mistakes, prints them and exits with code 78. Logs a warning for each
 * variable that looks like a misspelled setting.
 */
export function readConfigOrExit(): Config {
  const env = processEnv();
  try {
    const config = readConfig(env);
    const log = createLog(config.LOG_LEVEL);
    for (const { name, setting } of misspelledSettings(env)) {
      log.warn(`the variable ${name} is not a setting; did you mean ${setting}?`);
    }
    return config;
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    console.error(error.message);
    Deno.exit(CONFIGURATION_EXIT);
  }
}

/** Prints or logs why the service could not start, and exits with code 1. */
export function exitAfterFailedStart(config: Config, error: Error): never {
  if (config.isProduction) createLog(config.LOG_LEVEL).error("steward could not start", { error });
  else console.error(redactText(`steward could not start: ${error.message}\n${error.stack}`));
  Deno.exit(1);
}

/** On SIGTERM or SIGINT, calls `stop` and exits with code 0. A second signal exits immediately with code 130. */
export function stopOnSignal(stop: () => Promise<void>): void {
  let signalledAt: number | null = null;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    Deno.addSignalListener(signal, async () => {
      if (signalledAt !== null) {
        if (performance.now() - signalledAt > SAME_SIGNAL_MS) Deno.exit(130);
        return;
      }
      signalledAt = performance.now();
      await stop();
      Deno.exit(0);
    });
  }
}

/** Prints the URL of the service; in development also the administrator's password and other URLs. */
export function printReady(config: Config, { url, parts }: { url: string; parts: string[] }): void {
  console.log(`steward ready on ${url}`);
  if (config.isProduction) return;
  console.log(`  administrator  ${config.BOOTSTRAP_ADMIN_EMAIL} / ${config.BOOTSTRAP_ADMIN_PASSWORD}`);
  console.log(`  reference      ${url}/docs`);
  console.log(`  outbox         ${url}/dev/outbox`);
  console.log(`  embedded       ${parts.join(", ") || "nothing"} (data in ${config.DATA_DIR})`);
}
