import {
  type Config,
  ConfigurationError,
  misspelledSettings,
  processEnv,
  readConfig,
  unencryptedConnections,
} from "./config.ts";
import { createLog, type Log, redactText } from "./log.ts";

/**
 * A task runner forwards the terminal's Ctrl-C, so the process gets it twice. Signals within this time count as one.
 */
const SAME_SIGNAL_MS = 1_000;
/** Exit code for a mistake in the configuration (EX_CONFIG of sysexits.h). */
const CONFIGURATION_EXIT = 78;

/**
 * The configuration of this process. If it has mistakes, prints them and exits with code 78. Warns of each variable that
 * looks like a misspelled setting, and of each setting by which data travels without encryption.
 */
export function readConfigOrExit(): Config {
  const env = processEnv();
  const misspelled = misspelledSettings(env).map(({ name, setting }) =>
    `the variable ${name} is not a setting; did you mean ${setting}?`
  );
  try {
    const config = readConfig(env);
    const log = createLog(config.LOG_LEVEL);
    for (const warning of [...misspelled, ...unencryptedConnections(config)]) log.warn(warning);
    return config;
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    console.error([error.message, ...misspelled].join("\n"));
    Deno.exit(CONFIGURATION_EXIT);
  }
}

/** A service that runs in this process. */
interface RunningService {
  url: string;
  embedded: string[];
  platform: { log: Log };
  stop(): Promise<void>;
}

/**
 * Runs a service until a signal stops it: prints its URL, or why it could not start.
 * @param everyMinute work by name, which Deno.cron starts every minute
 */
export async function runService<S extends RunningService>(
  config: Config,
  starting: Promise<S>,
  everyMinute: Record<string, (service: S) => Promise<void>>,
): Promise<void> {
  // Declared before the server listens: Deno Deploy does not find schedules that are declared later.
  for (const [name, work] of Object.entries(everyMinute)) {
    Deno.cron(name, "* * * * *", async () => {
      const service = await starting;
      await work(service).catch((error) => service.platform.log.error(`${name} failed`, { error }));
    });
  }
  stopOnSignal(async () => await (await starting).stop());
  printReady(config, await starting.catch((error) => exitAfterFailedStart(config, error)));
}

/** Waits until all components have stopped. Logs failures, because one must not prevent the others from stopping. */
export async function waitUntilStopped(log: Log, stopping: Promise<unknown>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(stopping)) {
    if (outcome.status === "rejected") log.warn("a part did not stop cleanly", { error: outcome.reason });
  }
}

/** Prints or logs why the service could not start, and exits with code 1. */
function exitAfterFailedStart(config: Config, error: Error): never {
  if (config.isProduction) createLog(config.LOG_LEVEL).error("steward could not start", { error });
  else console.error(redactText(`steward could not start: ${error.message}\n${error.stack}`));
  Deno.exit(1);
}

/** On SIGTERM or SIGINT, calls `stop` and exits with code 0. A second signal exits immediately with code 130. */
function stopOnSignal(stop: () => Promise<void>): void {
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
function printReady(config: Config, { url, embedded }: { url: string; embedded: string[] }): void {
  console.log(`steward ready on ${url}`);
  if (config.isProduction) return;
  console.log(`  administrator  ${config.BOOTSTRAP_ADMIN_EMAIL} / ${config.BOOTSTRAP_ADMIN_PASSWORD}`);
  console.log(`  console        ${url}/console/`);
  console.log(`  reference      ${url}/docs`);
  if (config.SMTP_URL === null) console.log(`  outbox         ${url}/dev/outbox`);
  console.log(`  embedded       ${embedded.join(", ") || "nothing"} (data in ${config.DATA_DIR})`);
}
