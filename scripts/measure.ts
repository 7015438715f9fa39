// The size and shape of the code, as a table of domain/README.md: `deno task measure [--list]`.
import { dirname, join, normalize } from "node:path";

const ROOT = join(import.meta.dirname ?? ".", "..");
const AREAS = ["main.ts", "domain", "infra", "routes", "routes/console", "scripts", "tests"];
/** Shorter files with one importer are better read there. */
const SMALL_LINES = 60;
/** A pair of declarations with fewer members may be alike by accident. */
const TWIN_MEMBERS = 5;
const IMPORTS = /\b(?:from|import)\s*\(?\s*"(\.[^"]+\.tsx?)"/g;
const isList = Deno.args.includes("--list");

const git = await new Deno.Command("git", { args: ["ls-files", "-z"], cwd: ROOT }).output();
const files = new TextDecoder().decode(git.stdout).split("\0").filter((path) => path !== "");
const textOf = new Map(
  await Promise.all(
    files.filter((path) => /\.(tsx?|sql|md)$/.test(path)).map(async (path) =>
      [path, await Deno.readTextFile(join(ROOT, path)).catch(() => "")] as const
    ),
  ),
);
const code = [...textOf].filter(([path]) => /\.tsx?$/.test(path)).map(([path, text]) => ({
  path,
  text,
  imports: [...text.matchAll(IMPORTS)].map(([, to = ""]) => normalize(join(dirname(path), to))),
}));
const linesOf = (text: string): number => text.split("\n").length - 1;
const sum = (paths: { text: string }[]): number =>
  paths.reduce((lines, { text }) => lines + linesOf(text), 0);
const isTest = (path: string): boolean => path.startsWith("tests/") || path.startsWith("scripts/bench");
const within = (folder: string) =>
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

function declarations(pattern: RegExp, folder: string) {
  return within(folder).flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].map((match) => ({
      name: `${path} ${match[1] ?? ""}`,
      members: membersAt(text, match.index + match[0].length - 1),
    }))
  ).filter(({ members }) => members.size >= TWIN_MEMBERS);
}

/** Interfaces of the domain whose members a schema of the routes declares again. */
function twins(): string[] {
  const interfaces = declarations(/\binterface (\w+)[^{]*\{/g, "domain");
  const schemas = declarations(/\bconst (\w+) = z\.object\(\{/g, "routes");
  return schemas.flatMap(({ name, members }) => {
    const twin = interfaces.find((each) =>
      each.members.size === members.size && members.isSubsetOf(each.members)
    );
    return twin ? [`${name} = ${twin.name}`] : [];
  });
}

/** Imports between two folders of an area that point against the direction of most imports between these two. */
function upward(area: string): string[] {
  const between = within(area).flatMap(({ path, imports }) =>
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
function lonely(): string[] {
  const importers = new Map<string, string[]>();
  for (const { path, imports } of code) {
    for (const to of new Set(imports)) importers.set(to, [...importers.get(to) ?? [], path]);
  }
  return code.filter(({ path }) => !isTest(path)).flatMap(({ path, text }) => {
    const [by, ...others] = (importers.get(path) ?? []).filter((importer) => !isTest(importer));
    const isLonely = by !== undefined && others.length === 0 && dirname(by) !== dirname(path);
    return isLonely && linesOf(text) < SMALL_LINES ? [`${path} ← ${by}`] : [];
  });
}

const endpoint = textOf.get("routes/shared/endpoint.ts") ?? "";
const spec = /export interface EndpointSpec[\s\S]*?\n\}/.exec(endpoint)?.[0] ?? "";
const keyedByPool = code.filter(({ path, text }) => !isTest(path) && /new WeakMap<Pool/.test(text)).map((
  { path },
) => path);
const subareas = ["access", "reports", "jobs", "notifications", "files"].map((area) => `domain/${area}`);
const lists: Record<string, string[]> = {
  "twins of a DTO": twins(),
  "maps keyed by a pool": keyedByPool,
  "small files with one importer elsewhere": lonely(),
  ...Object.fromEntries(
    [...subareas, "routes/console"].map((area) => [`upward imports in ${area}`, upward(area)]),
  ),
};
const rows: [string, number][] = [
  ["product lines (TS, TSX)", sum(code.filter(({ path }) => !isTest(path)))],
  ["test lines", sum(code.filter(({ path }) => path.startsWith("tests/")))],
  ...AREAS.map((area): [string, number] => [`lines of \`${area}\``, sum(within(area))]),
  [
    "lines of SQL in `infra/postgres`",
    linesOf([...textOf].filter(([path]) => /^infra\/.*\.sql$/.test(path)).map(([, text]) => text).join("")),
  ],
  ["files in git", files.length],
  [
    "optional members of `EndpointSpec`",
    [...spec.matchAll(/^ {2}\w+\??[:(]/gm)].filter(([line]) => line.includes("?")).length,
  ],
  ...Object.entries(lists).map(([name, list]): [string, number] => [name, list.length]),
];
console.log("| | |\n|---|---|");
for (const [name, count] of rows) console.log(`| ${name} | ${count.toLocaleString("en")} |`);
if (isList) {
  for (const [name, list] of Object.entries(lists)) console.log(`\n${name}:\n  ${list.join("\n  ")}`);
}
