import assert from "node:assert/strict";
import { dirname, join, normalize } from "node:path";
import { FAULTS } from "./faults/list.ts";

const ROOT = join(import.meta.dirname ?? ".", "..");
/** Their exports are checked. */
const FOLDERS = ["domain", "infra", "routes"];
const EXPORT = /^export (?:async )?(?:const|function\*?|class) (\w+)/gm;
const NAMED = /\b(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s+from\s+"(\.[^"]+)"/g;
const WHOLE = /\bimport\s*(?:\(|\*\s+as\s+\w+\s+from)\s*"(\.[^"]+)"/g;

function* sourceFiles(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(join(ROOT, folder))) {
    if (isDirectory) yield* sourceFiles(`${folder}/${name}`);
    else if (/\.tsx?$/.test(name)) yield `${folder}/${name}`;
  }
}

Deno.test("a function, constant or class that a file exports is imported by another file", () => {
  const exported: { file: string; name: string }[] = [];
  const imported = new Set<string>();
  for (
    const file of [
      "main.ts",
      ...[...FOLDERS, "scripts", "tests"].flatMap((folder) => [...sourceFiles(folder)]),
    ]
  ) {
    const text = Deno.readTextFileSync(join(ROOT, file));
    const resolved = (path: string) => normalize(join(dirname(file), path));
    for (const [, names = "", path = ""] of text.matchAll(NAMED)) {
      for (const name of names.split(",")) {
        imported.add(`${resolved(path)} ${name.trim().replace(/^type /, "").split(" as ")[0]}`);
      }
    }
    for (const [, path = ""] of text.matchAll(WHOLE)) imported.add(resolved(path));
    if (!FOLDERS.includes(file.split("/")[0] ?? "")) continue;
    for (const [, name = ""] of text.matchAll(EXPORT)) exported.push({ file, name });
  }
  assert.ok(exported.length > 2_000, `only ${exported.length} exports were found`);
  const unused = exported.filter(({ file, name }) => !imported.has(file) && !imported.has(`${file} ${name}`));
  assert.deepEqual(unused, []);
});

Deno.test("each fault that can be planted finds its text in the source", () => {
  const lost = FAULTS.filter(({ file, text }) => !Deno.readTextFileSync(join(ROOT, file)).includes(text));
  assert.deepEqual(lost.map(({ name }) => name), []);
});
