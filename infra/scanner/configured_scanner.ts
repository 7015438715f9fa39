import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Config } from "../config.ts";
import { clamdScanner } from "./clamd.ts";
import type { Scanner } from "./scanner.ts";
import { yaraScanner } from "./yara.ts";

/** The configured scanner: clamd, or YARA-X inside this process. */
export function openScanner(config: Config): Scanner {
  if (config.SCANNER === "clamd") {
    return clamdScanner({ host: config.CLAMD_HOST ?? "", port: config.CLAMD_PORT });
  }
  const folder = config.YARA_RULES_DIR ? pathToFileURL(join(resolve(config.YARA_RULES_DIR), "/")) : undefined;
  return yaraScanner(folder ? { rulesFolder: folder } : {});
}
