// Loads the files of the bundle that run nothing, so that Deno keeps their compiled code. It is used only with the same V8 flags.
const folder = new URL("../../.bundle/", import.meta.url);
for (const { name } of Deno.readDirSync(folder)) {
  if (!name.startsWith("scripts.")) await import(new URL(name, folder).href);
}
Deno.exit();
