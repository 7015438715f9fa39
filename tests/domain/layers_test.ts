import assert from "node:assert/strict";
import { dirname, join, normalize, relative } from "node:path";

/** The layers of `domain/`, lowest first. Areas of one layer do not import each other. */
const LAYERS = [
  ["problems"],
  ["shared"],
  ["rights"],
  ["audit"],
  ["jobs"],
  ["requests", "records", "looks"],
  ["documents", "templates"],
  ["events"],
  ["notifications"],
  ["access", "files"],
  ["reports", "oauth", "user_data", "console"],
  ["operations"],
];
/** What each top folder may import. Files of `domain/` itself stand above the areas. */
const FOLDERS: Record<string, string[]> = {
  infra: ["infra"],
  domain: ["infra", "domain"],
  routes: ["infra", "domain", "routes"],
};
/**
 * The folders inside an area and the console, lowest first; `.` holds the files of the area itself. They do not import
 * upwards either. An area without a line has one folder.
 */
const FOLDERS_OF: Record<string, string> = {
  access:
    ". passwords roles tenants users users/bulk permissions keys sign_in account delegations factors sign_in/providers sign_in/oidc sign_in/saml invitations scim",
  documents: ". markup charts writers/excel writers/pdf writers/pdf/blocks writers",
  events: "feed .",
  jobs: ". types limits batches statistics lists control recurring built_in engine remote instance",
  looks: ". senders",
  notifications: ". feedback in_app delivery sending",
  oauth: "clients . authorization tokens",
  reports: "definition templates threads . delivery document_templates generation schedules",
  templates: "language/values language .",
  user_data: "imports .",
  "routes/console": [
    "shared components lists files integration jobs notifications inbox records extensions reports access/permissions access/users",
    "access/audit access/roles scope access/sign_in access/tenants access/data access overview search layout account visit .",
  ].join(" "),
};
const ROOT = join(import.meta.dirname ?? ".", "..", "..");
const IMPORTS = /\b(?:from|import)\s*\(?\s*"(\.[^"]+\.tsx?)"/g;

function* sourceFiles(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(join(ROOT, folder))) {
    if (isDirectory) yield* sourceFiles(`${folder}/${name}`);
    else if (/\.tsx?$/.test(name)) yield `${folder}/${name}`;
  }
}

/** The imports of a file, static, dynamic and of types, as paths from the root. */
function importsOf(file: string): string[] {
  const text = Deno.readTextFileSync(join(ROOT, file));
  return [...text.matchAll(IMPORTS)].map(([, path = ""]) => normalize(join(dirname(file), path)));
}

const imports = new Map(
  Object.keys(FOLDERS).flatMap((folder) => [...sourceFiles(folder)]).map((file) => [file, importsOf(file)]),
);

/** The area of a file in `domain/`; null for files above the areas. */
const areaOf = (file: string): string | null => /^domain\/([^/]+)\//.exec(file)?.[1] ?? null;
const layerOf = (area: string): number => LAYERS.findIndex((areas) => areas.includes(area));

/** May `file` import `imported`? */
function isAllowed(file: string, imported: string): boolean {
  const [folder = ""] = file.split("/");
  if (!FOLDERS[folder]?.includes(imported.split("/")[0] ?? "")) return false;
  const from = areaOf(file);
  if (from === null || !imported.startsWith("domain/")) return true;
  const to = areaOf(imported);
  return to !== null && (from === to || layerOf(to) < layerOf(from));
}

Deno.test("a module that is loaded later is the one of its type", () => {
  const files = ["main.ts", ...Object.keys(FOLDERS).flatMap((folder) => [...sourceFiles(folder)])];
  const calls = files.flatMap((file) => [
    ...Deno.readTextFileSync(join(ROOT, file)).matchAll(
      /loadLater<\s*typeof import\("(.+?)"\)\s*>\(\s*import\.meta,\s*"(.+?)"/g,
    ),
  ]);
  assert.ok(calls.length > 20);
  for (const [call, typePath, path] of calls) assert.equal(path, typePath, call);
});

Deno.test("imports point down: from routes to the domain and infra, and from an area to lower areas", () => {
  assert.ok([...imports.values()].flat().length > 3_000, "the imports were not found");
  const wrong = [...imports].flatMap(([file, imported]) =>
    imported.filter((path) => !isAllowed(file, path)).map((path) => `${file} imports ${path}`)
  );
  assert.deepEqual(wrong, []);
});

/** The area of a file, and the place of its folder in `FOLDERS_OF`: -1 if it has none. */
function placeOf(file: string): { area: string; place: number } | null {
  const path = /^(?:domain\/(\w+)|(routes\/console))\/(?:(.+)\/)?[^/]+$/;
  const [, domainArea, console, folder = "."] = path.exec(file) ?? [];
  const area = domainArea ?? console ?? "";
  if (area === "" || folder === "." && !Object.hasOwn(FOLDERS_OF, area)) return null;
  return { area, place: (FOLDERS_OF[area] ?? "").split(" ").indexOf(folder) };
}

Deno.test("inside an area, imports point down from folder to folder", () => {
  const wrong = [...imports].flatMap(([file, imported]) => {
    const from = placeOf(file);
    if (from === null) return [];
    if (from.place < 0) return [`the folder of ${file} has no place in the order`];
    return imported.flatMap((path) => {
      const to = placeOf(path);
      return to?.area === from.area && to.place > from.place ? [`${file} imports ${path}`] : [];
    });
  });
  assert.deepEqual(wrong, []);
});

Deno.test("no file imports itself through other files, not even for types", () => {
  const done = new Set<string>();
  const loops: string[] = [];
  function visit(file: string, path: string[]): void {
    if (path.includes(file)) loops.push([...path.slice(path.indexOf(file)), file].join(" → "));
    if (done.has(file) || path.includes(file)) return;
    for (const imported of imports.get(file) ?? []) visit(imported, [...path, file]);
    done.add(file);
  }
  for (const file of imports.keys()) visit(file, []);
  assert.deepEqual(loops, []);
});

Deno.test("every area has a layer, and the README draws the same layers", () => {
  const areas = [...Deno.readDirSync(join(ROOT, "domain"))].filter((e) => e.isDirectory).map((e) => e.name);
  assert.deepEqual(LAYERS.flat().sort(), areas.sort());
  const readme = Deno.readTextFileSync(join(ROOT, "domain", "README.md"));
  const drawn = [...readme.matchAll(/^\| (\d+) \| (.*?) \|/gm)].map(([, , cell = ""]) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, area]) => area)
  );
  assert.deepEqual(drawn, LAYERS.toReversed(), relative(ROOT, "domain/README.md"));
});

/** Modules of areas that can be off, which a service loads only if these are on. */
const LATER =
  /^routes\/(oauth|access|scim|reports|jobs|files|notifications|looks|events|console)\/mod\.ts$|^routes\/console\/console|^domain\/(reports\/execution|files\/service_files)\.ts$|^infra\/objectstore\/objectstore\.ts$/;
const VALUES =
  /^(?:import|export) (?!type)[^;"]*?from "(\.[^"]+)"|^import "(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/gm;

Deno.test("the start reads no module of an area that is off", () => {
  const seen = new Set(["main.ts"]);
  for (const file of seen) {
    const text = Deno.readTextFileSync(join(ROOT, file)).replaceAll(/typeof import\("[^"]+"\)/g, "");
    for (const [, from, effects, dynamic] of text.matchAll(VALUES)) {
      seen.add(normalize(join(dirname(file), from ?? effects ?? dynamic ?? "")));
    }
  }
  assert.ok(seen.size > 300, "the imports were not found");
  assert.deepEqual([...seen].filter((file) => LATER.test(file)), []);
});
