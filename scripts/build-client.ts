// Generates the typed client from the service's routes and packs it for npm: `deno task client`.
import { join, resolve } from "node:path";
import { settingText } from "../infra/config.ts";
import { VERSION } from "../infra/version.ts";
import { readComponents } from "../routes/components/components.ts";
import { documentOfRoutes } from "./client/document.ts";
import { generateClient } from "./client/generate.ts";
import { EXIT, readPlainArguments } from "./shared/plain_arguments.ts";

const HELP = `Usage: deno task client [FOLDER]

Generates the TypeScript client of this version of the service and packs it as steward-client-${VERSION}.tgz into FOLDER
(default: the current folder; created if missing). STEWARD_EXTENSIONS names the modules of extensions, whose routes it
then has too. Install it with: npm install ./steward-client-${VERSION}.tgz

Example: deno task client ../my-product

Exit code 0 when the package is written, 64 for wrong usage, 1 when it failed.`;

const here = import.meta.dirname ?? ".";

/** Writes the package's sources into `folder`, formatted and type-checked. */
async function writeSources(folder: string): Promise<void> {
  const document = await documentOfRoutes(settingText("STEWARD_EXTENSIONS") ?? "");
  await Deno.writeTextFile(join(folder, "mod.ts"), generateClient(document));
  for (const name of ["transport.ts", "helpers.ts", "work.ts", "work_types.ts", "README.md"]) {
    await Deno.copyFile(join(here, "client", name), join(folder, name));
  }
  await Deno.copyFile(join(here, "..", "LICENSE"), join(folder, "LICENSE"));
  await Deno.mkdir(join(folder, "components"));
  const components = [...readComponents()].map(([name, script]) => ({
    path: `./components/${name}`,
    script,
  }));
  for (const { path, script } of components) await Deno.writeTextFile(join(folder, path), script);
  const exports = { ".": "./mod.ts", ...Object.fromEntries(components.map(({ path }) => [path, path])) };
  await Deno.writeTextFile(
    join(folder, "deno.json"),
    JSON.stringify({ name: "@steward/client", version: VERSION, license: "MIT", exports }),
  );
  await run(folder, ["fmt", "--quiet", "--line-width=110", "mod.ts"]);
  await run(folder, ["check", "--quiet", "mod.ts"]);
}

async function createFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true });
  } catch (error) {
    throw new Error(`the folder ${path} cannot be created: ${(error as Error).message}`);
  }
}

async function run(cwd: string, args: string[]): Promise<void> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd }).output();
  if (success) return;
  const text = new TextDecoder();
  throw new Error(`deno ${args[0]} failed:\n${text.decode(stdout)}${text.decode(stderr)}`);
}

const [destination = "."] = readPlainArguments(
  HELP,
  (words) =>
    words.length > 1 || words.some((word) => word.startsWith("-"))
      ? `unknown arguments: ${words.join(" ")}`
      : null,
);
const target = join(resolve(destination), `steward-client-${VERSION}.tgz`);
const folder = await Deno.makeTempDir({ prefix: "steward-client-" });
try {
  await createFolder(resolve(destination));
  await writeSources(folder);
  await run(folder, ["pack", "--quiet", "--allow-dirty", "--no-source-maps", "--output", target]);
  console.log(`wrote ${target}`);
} catch (error) {
  console.error((error as Error).message);
  Deno.exitCode = EXIT.refused;
} finally {
  await Deno.remove(folder, { recursive: true });
}
Deno.exit(); // the imported routes hold timers that would keep the process running
