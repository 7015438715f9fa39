import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Config } from "../config.ts";
import type { Log } from "../log.ts";
import { withArchiveLimits } from "./bounded_scanner.ts";
import { clamdScanner } from "./clamd.ts";
import type { Scanner } from "./scanner.ts";
import { countVerdicts } from "./verdict_counter.ts";
import { yaraScanner } from "./yara.ts";

/**
 * Opens the configured scanner. Logs its notice, if it has one.
 * @param o.onVerdict called with every verdict, and with `Unavailable` if a scan fails
 */
export function openScanner(config: Config, o: { log: Log; onVerdict: (verdict: string) => void }): Scanner {
  const scanner = countVerdicts(newScanner(config), o.onVerdict);
  if (scanner.notice !== undefined) o.log.warn(scanner.notice);
  return scanner;
}

/** The configured scanner: clamd, or YARA-X inside this process. */
function newScanner(config: Config): Scanner {
  if (config.SCANNER === "clamd") {
    return withArchiveLimits(clamdScanner({ host: config.CLAMD_HOST ?? "", port: config.CLAMD_PORT }));
  }
  const folder = config.YARA_RULES_DIR ? pathToFileURL(join(resolve(config.YARA_RULES_DIR), "/")) : undefined;
  return yaraScanner(folder ? { rulesFolder: folder } : {});
}
