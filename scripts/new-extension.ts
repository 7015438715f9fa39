// Writes a new extension from the files in new_extension/: `deno task new-extension NAME [FOLDER]`.
import { dirname, join, relative, resolve } from "node:path";
import { EXIT } from "./shared/plain_arguments.ts";
import { Failure, runScript } from "./shared/run_script.ts";

const HELP = `Usage: deno task new-extension NAME [FOLDER]

Writes a small extension with its tests: a resource with a migration, a route, a job, a report and a permission.
NAME has 2 to 31 lower-case letters, digits and underscores. FOLDER must not exist; default: ./NAME.

Example: deno task new-extension time_tracking ../time_tracking

Exit code 0 when the extension is written, 64 for wrong usage, 1 when the folder exists.`;

const ROOT = join(import.meta.dirname ?? ".", "..");
const TEMPLATE = join(ROOT, "scripts", "new_extension");

await runScript({
  help: HELP,
  options: {},
  async run(_options, [name, folder = `./${name}`, ...more]) {
    if (name === undefined || more.length > 0) {
      throw new Failure(EXIT.usage, "expected NAME and at most one FOLDER");
    }
    if (!/^[a-z](_?[a-z0-9]){1,30}$/.test(name) || name.length > 31) {
      throw new Failure(
        EXIT.usage,
        `"${name}": expected a name of 2 to 31 lower-case letters, digits and underscores`,
      );
    }
    // `deno task` runs in the checkout; INIT_CWD is the folder of the caller.
    const target = resolve(Deno.env.get("INIT_CWD") ?? ".", folder);
    await createFolder(target);
    await copyTemplate(TEMPLATE, target, { name, target });
    const isInside = !relative(ROOT, target).startsWith("..");
    if (!isInside) {
      await Deno.writeTextFile(join(target, "deno.json"), await configFor(relative(target, ROOT)));
    }
    console.log(`wrote ${target}; its README.md says how to test and start it`);
    return 0;
  },
});

async function createFolder(folder: string): Promise<void> {
  await Deno.mkdir(dirname(folder), { recursive: true });
  await Deno.mkdir(folder).catch((error) => {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    throw new Failure(EXIT.refused, `${folder} exists; name a folder that does not exist`);
  });
}

async function copyTemplate(from: string, to: string, o: { name: string; target: string }): Promise<void> {
  for await (const entry of Deno.readDir(from)) {
    const [source, copy] = [join(from, entry.name), join(to, renamed(entry.name, o.name))];
    if (entry.isDirectory) {
      await Deno.mkdir(copy);
      await copyTemplate(source, copy, o);
      continue;
    }
    const text = renamed(await Deno.readTextFile(source), o.name).replaceAll("FOLDER", o.target);
    await Deno.writeTextFile(copy, text);
  }
}

/** The text with the name of the new extension instead of `sample`, in each of the forms that names have. */
function renamed(text: string, name: string): string {
  const camel = name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  return text
    .replaceAll("SAMPLE", name.toUpperCase())
    .replaceAll("Sample", camel.charAt(0).toUpperCase() + camel.slice(1))
    .replaceAll(/sample(?=[A-Z])/g, camel)
    .replaceAll("sample-", `${name.replaceAll("_", "-")}-`)
    .replaceAll(/sample(?!s)/g, name);
}

/** The configuration of an extension outside of this checkout. @param checkout path from there to here */
async function configFor(checkout: string): Promise<string> {
  const { version, unstable, compilerOptions } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  const config = {
    imports: {
      "@steward/steward": `jsr:@steward/steward@${version}`,
      "@steward/steward/testing": `jsr:@steward/steward@${version}/testing`,
    },
    links: [checkout],
    nodeModulesDir: "auto",
    unstable,
    compilerOptions,
    fmt: { lineWidth: 110 },
    test: { permissions: { all: true } },
  };
  return JSON.stringify(config, null, 2) + "\n";
}
