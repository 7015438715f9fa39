// Requests a new scan of all files, directly in the database: `deno task rescan-files COMMAND`.
import { readRescanProgress, requestRescan } from "../domain/files/rescan_generation.ts";
import { runDatabaseCommand } from "./shared/database_command.ts";
import { EXIT, Failure } from "./shared/run_script.ts";

const HELP = `Usage: DATABASE_URL=postgres://... deno task rescan-files COMMAND [options]

The service scans Available files again when the scan engine has newer signatures. This script shows the progress of that
scan, or requests one now. A running instance starts it within a minute, in the background and with low priority.

Commands:
  status   show how many files wait for a new scan
  all      request a new scan of every Available file, also without newer signatures

Options:
  --json      print JSON
  -h, --help  this text

Example: deno task rescan-files all

Exit code 0 when done, 1 when no file was ever scanned, 64 for wrong usage, 69 when the database is not usable.`;

await runDatabaseCommand({
  help: HELP,
  name: "rescan-files",
  options: {},
  async run({ positionals, sql, print }) {
    const command = positionals.join(" ");
    if (command !== "status" && command !== "all") {
      throw new Failure(EXIT.usage, command ? `unknown command "${command}"` : "a command is missing");
    }
    if (command === "all" && !await requestRescan(sql)) {
      throw new Failure(
        EXIT.refused,
        "no file was scanned yet, so none can be scanned again",
      );
    }
    const { seenAt, walkUntil, ...progress } = await readRescanProgress(sql);
    print({
      ...progress,
      seenAt: seenAt?.toISOString() ?? null,
      walkUntil: walkUntil?.toISOString() ?? null,
    });
  },
});
