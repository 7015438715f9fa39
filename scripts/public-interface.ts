// Writes routes/extensions/public_interface.txt, the description of "@steward/steward": `deno task public-interface`.
import { describePublicInterface, PUBLIC_INTERFACE } from "./shared/public_interface.ts";
import { requireNoArguments, runScript } from "./shared/run_script.ts";

const HELP = `Usage: deno task public-interface

Writes routes/extensions/public_interface.txt: the signatures that extensions import from "@steward/steward". A difference
in it shows reviewers whether a change breaks extensions.

Example: deno task public-interface

Exit code 0 when the file is written, 64 for wrong usage, 1 when it failed.`;

await runScript({
  help: HELP,
  options: {},
  async run(_options, positionals) {
    requireNoArguments(positionals);
    await Deno.writeTextFile(PUBLIC_INTERFACE, await describePublicInterface());
    console.log(`wrote ${PUBLIC_INTERFACE}`);
    return 0;
  },
});
