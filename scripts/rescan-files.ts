// Has files examined again, straight in the database: `deno task rescan-files COMMAND`.
import { readRescanProgress, requestRescan } from "../domain/files/rescan_generation.ts";
import { runCli } from "./shared/cli.ts";
import { EXIT, Failure } from "./shared/command_line.ts";

const HELP = `Usage: DATABASE_URL=postgres://... deno task rescan-files COMMAND [options]

Available files are examined again by themselves once the scan engine has newer signatures. This tells how far that is,
or asks for it now; a running instance begins within a minute and goes on in the background, with low priority.

Commands:
  status   how many files wait to be examined again
  all      have every Available file examined again, although the engine knows nothing new

Options:
  --json      print JSON
  -h, --help  this text

Example: deno task rescan-files all

Exit code 0 when done, 1 when no engine has examined anything yet, 64 for wrong usage, 69 when the database cannot be
used.`;

await runCli({
  help: HELP,
  name: "rescan-files",
  options: {},
  async run({ positionals, sql, print }) {
    const command = positionals.join(" ");
    if (command !== "status" && command !== "all") {
      throw new Failure(EXIT.usage, command ? `there is no command "${command}"` : "a command is missing");
    }
    if (command === "all" && !await requestRescan(sql)) {
      throw new Failure(
        EXIT.refused,
        "no engine has examined anything yet: there is nothing to examine again",
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
