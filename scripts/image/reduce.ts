// Reduces the folder of an image to the bundle, the data, and the extensions of scripts/extensions: `deno run -A
// scripts/image/reduce.ts` in the folder. Not for a checkout: it deletes the sources.
import { bundledName } from "./source_meta.ts";
import { SCRIPTS, UNBUNDLED } from "./parts.ts";

const config = JSON.parse(await Deno.readTextFile("deno.json"));
const bundled = (module: string) => `.bundle/${bundledName(module)}`;
const imports = Object.entries<string>(config.imports).filter(([name]) => UNBUNDLED.includes(name));
const tasks = SCRIPTS.map((
  name,
) => [name, config.tasks[name].replace(`scripts/${name}.ts`, bundled(`scripts/${name}`))]);
const reduced = {
  ...config,
  exports: `./${bundled("routes/extensions/public")}`,
  imports: Object.fromEntries(imports),
  tasks: Object.fromEntries(tasks),
};
await Deno.writeTextFile("deno.json", JSON.stringify(reduced, null, 2));

async function removeSources(folder: string): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory && path !== "scripts/extensions") await removeSources(path);
    else if (/\.tsx?$/.test(name)) await Deno.remove(path);
  }
}
for (const folder of ["domain", "infra", "routes", "scripts"]) await removeSources(folder);
await Deno.remove("main.ts");
