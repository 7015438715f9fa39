// The size and shape of the code, as a table: `deno task measure [--list]`.
import { dirname, join, normalize } from "node:path";
import { requireNoArguments, runScript } from "./shared/run_script.ts";

const HELP = `Usage: deno task measure [options]

Prints size and shape of the code as a table: lines by area, files, declarations that repeat one, imports that point
up, small files with one importer, and optional members of a route.

Options:
  --list      also the places that are counted
  -h, --help  this text

Example: deno task measure --list

Exit code 0 when the table is printed, 64 for wrong usage.`;

const ROOT = join(import.meta.dirname ?? ".", "..");
const AREAS = ["main.ts", "domain", "infra", "routes", "routes/console", "scripts", "tests"];
/** Areas with folders of their own. */
const NESTED = [
  ...["access", "reports", "documents", "jobs", "notifications", "templates", "files"].map((area) =>
    `domain/${area}`
  ),
  "routes/console",
];
/** A file with one importer and fewer lines is counted: its content could be read in the importing file. */
const SMALL_LINES = 60;
/** Minimum number of members of a counted pair. A smaller pair may be equal by accident. */
const TWIN_MEMBERS = 5;
const IMPORTS = /\b(?:from|import)\s*\(?\s*"(\.[^"]+\.tsx?)"/g;

interface SourceFile {
  path: string;
  text: string;
  imports: string[];
}

/** The paths of all files in git, and the texts of those that are read. */
async function readFiles(): Promise<{ files: string[]; textOf: Map<string, string> }> {
  const git = await new Deno.Command("git", { args: ["ls-files", "-z"], cwd: ROOT }).output();
  const files = new TextDecoder().decode(git.stdout).split("\0").filter((path) => path !== "");
  const read = files.filter((path) => /\.(tsx?|sql)$/.test(path)).map(async (path) =>
    [path, await Deno.readTextFile(join(ROOT, path))] as const
  );
  return { files, textOf: new Map(await Promise.all(read)) };
}

const sourcesOf = (textOf: Map<string, string>): SourceFile[] =>
  [...textOf].filter(([path]) => /\.tsx?$/.test(path)).map(([path, text]) => ({
    path,
    text,
    imports: [...text.matchAll(IMPORTS)].map(([, to = ""]) => normalize(join(dirname(path), to))),
  }));
const linesOf = (text: string): number => text.split("\n").length - 1;
const sum = (paths: { text: string }[]): number =>
  paths.reduce((lines, { text }) => lines + linesOf(text), 0);
const isTest = (path: string): boolean => path.startsWith("tests/") || path.startsWith("scripts/bench");
const within = (code: SourceFile[], folder: string): SourceFile[] =>
  code.filter(({ path }) => path === folder || path.startsWith(`${folder}/`));

/** The names of the members in the braces that open at `start`, at their top level. */
function membersAt(text: string, start: number): Set<string> {
  const names = new Set<string>();
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    if ("{([".includes(text[i] ?? "")) depth++;
    if ("})]".includes(text[i] ?? "") && --depth === 0) break;
    const name = depth === 1 && /^[\n,{]\s*(?:readonly )?(\w+)\??:/.exec(text.slice(i, i + 80))?.[1];
    if (name) names.add(name);
  }
  return names;
}

function declarations(code: SourceFile[], pattern: RegExp) {
  return code.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].map((match) => ({
      name: `${path} ${match[1] ?? ""}`,
      members: membersAt(text, match.index + match[0].length - 1),
    }))
  ).filter(({ members }) => members.size >= TWIN_MEMBERS);
}

/** Interfaces of the domain whose members a schema of the routes declares again. */
function twins(code: SourceFile[]): string[] {
  const interfaces = declarations(within(code, "domain"), /\binterface (\w+)[^{]*\{/g);
  const schemas = declarations(within(code, "routes"), /\bconst (\w+) = z\.object\(\{/g);
  return schemas.flatMap(({ name, members }) => {
    const twin = interfaces.find((each) =>
      each.members.size === members.size && members.isSubsetOf(each.members)
    );
    return twin ? [`${name} = ${twin.name}`] : [];
  });
}

/** Imports between two folders of an area that point against the direction of most imports between these two. */
function upward(code: SourceFile[], area: string): string[] {
  const between = within(code, area).flatMap(({ path, imports }) =>
    imports.filter((to) => to.startsWith(`${area}/`) && dirname(to) !== dirname(path)).map((to) => ({
      path,
      to,
    }))
  );
  const directions = Map.groupBy(between, ({ path, to }) => `${dirname(path)} ${dirname(to)}`);
  return [...directions].flatMap(([direction, those]) => {
    const others = directions.get(direction.split(" ").toReversed().join(" ")) ?? [];
    const isAgainst = those.length < others.length ||
      those.length === others.length && direction < direction.split(" ").toReversed().join(" ");
    return isAgainst ? those.map(({ path, to }) => `${path} → ${to}`) : [];
  });
}

/** Small files that only one file of another folder imports. */
function importedOnce(code: SourceFile[]): string[] {
  const importers = new Map<string, string[]>();
  for (const { path, imports } of code) {
    for (const to of new Set(imports)) importers.set(to, [...importers.get(to) ?? [], path]);
  }
  return code.filter(({ path }) => !isTest(path)).flatMap(({ path, text }) => {
    const [by, ...others] = (importers.get(path) ?? []).filter((importer) => !isTest(importer));
    const isImportedOnce = by !== undefined && others.length === 0 && dirname(by) !== dirname(path);
    return isImportedOnce && linesOf(text) < SMALL_LINES ? [`${path} ← ${by}`] : [];
  });
}

/** Everything counted, by name, as a number or as the places. */
function measured(files: string[], textOf: Map<string, string>): Record<string, number | string[]> {
  const code = sourcesOf(textOf);
  const product = code.filter(({ path }) => !isTest(path));
  const spec = /export interface EndpointSpec[\s\S]*?\n\}/.exec(
    textOf.get("routes/shared/endpoint.ts") ?? "",
  );
  const sql = [...textOf].filter(([path]) => /^infra\/.*\.sql$/.test(path)).map(([path, text]) => ({
    path,
    text,
  }));
  return {
    "product lines (TS, TSX)": sum(product),
    ...Object.fromEntries(AREAS.map((area) => [`lines of \`${area}\``, sum(within(code, area))])),
    "lines of SQL in `infra/postgres`": sum(sql),
    "files in git": files.length,
    "optional members of `EndpointSpec`": [...spec?.[0].matchAll(/^ {2}\w+\?[:(]/gm) ?? []].length,
    "twins of a DTO": twins(code),
    "maps keyed by a pool": product.filter(({ text }) => /\bWeakMap<Pool\b/.test(text)).map(({ path }) =>
      path
    ),
    "small files with one importer elsewhere": importedOnce(code),
    ...Object.fromEntries(NESTED.map((area) => [`upward imports in \`${area}\``, upward(code, area)])),
  };
}

await runScript({
  help: HELP,
  options: { list: { type: "boolean", default: false } },
  async run({ list }, positionals) {
    requireNoArguments(positionals);
    const { files, textOf } = await readFiles();
    const rows = Object.entries(measured(files, textOf));
    console.log("| | |\n|---|---|");
    for (const [name, found] of rows) {
      const count = typeof found === "number" ? found : found.length;
      console.log(`| ${name} | ${count.toLocaleString("en")} |`);
    }
    for (const [name, found] of list ? rows : []) {
      if (typeof found !== "number") console.log(`\n${name}:\n  ${found.join("\n  ")}`);
    }
    return 0;
  },
});
