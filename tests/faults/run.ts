// `deno task faults`: plants each fault in a copy of the working tree, runs the tests of its area until one fails, and
// prints that test. See README.md.
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { DECLARING, testFilesIn } from "../support/tiers.ts";
import { until } from "../support/until.ts";
import { type Fault, FAULTS, OF_ALL_AREAS, TESTS_OF } from "./list.ts";

const ROOT = join(import.meta.dirname ?? ".", "..", "..");
const MEMORY_FOLDER = "/dev/shm";

interface Failure {
  test: string;
  /** Path in tests/; null: a module could not be loaded. */
  file: string | null;
}

interface Result extends Pick<Fault, "name" | "area" | "file"> {
  caughtBy: Failure | null;
  /** Tests that failed with the fault, and also without it. */
  unreliable: Failure[];
  seconds: number;
}

const wordsOf = (path: string): Set<string> =>
  new Set(path.toLowerCase().split(/[^a-z0-9]+/).map((word) => word.replace(/s$/, "")));

/** The tests of a fault: those first whose path has most words of the fault's path, then those of all areas. */
function testsOf(fault: Fault, tests: string, chosen: string[] | undefined): string[] {
  const prefixes = chosen ?? [...fault.tests ?? TESTS_OF[fault.area], ...OF_ALL_AREAS];
  const words = wordsOf(fault.file);
  const isOfAllAreas = (path: string) => OF_ALL_AREAS.some((prefix) => path.startsWith(prefix));
  const rank = (path: string) => isOfAllAreas(path) ? 1.5 : wordsOf(path).intersection(words).size;
  return testFilesIn(tests, "gate").map((file) => relative(tests, file))
    .filter((path) => prefixes.some((prefix) => path.startsWith(prefix)))
    .sort((a, b) => rank(b) - rank(a) || (a < b ? -1 : 1));
}

/** The copy of the project, in which faults are planted. */
class Copy {
  readonly #tests: string;
  /** Test files that passed without a fault. */
  readonly #passing = new Set<string>();

  constructor(private readonly folder: string, private readonly temporary: string) {
    this.#tests = join(folder, "tests");
  }

  /** Runs the tests with the fault until one fails that passes without it. */
  async run(fault: Fault, chosen: string[] | undefined): Promise<Result> {
    const { name, area, file } = fault;
    const startedAt = performance.now();
    const unreliable: Failure[] = [];
    let paths = testsOf(fault, this.#tests, chosen);
    for (;;) {
      const caughtBy = await this.#withFault(fault, () => this.#firstFailure(paths));
      const suspect = caughtBy?.file ?? null;
      const alsoWithout = suspect === null ? null : await this.#failureWithout(suspect);
      const seconds = Math.round((performance.now() - startedAt) / 1000);
      if (!alsoWithout) return { name, area, file, caughtBy, unreliable, seconds };
      unreliable.push(alsoWithout);
      paths = paths.filter((path) => path !== suspect);
    }
  }

  /** The failure of a test file without any fault; null if it passed, now or before. */
  async #failureWithout(path: string): Promise<Failure | null> {
    if (this.#passing.has(path)) return null;
    const failure = await this.#firstFailure([path]);
    if (!failure) this.#passing.add(path);
    return failure;
  }

  async #withFault<T>({ file, text, replacement }: Fault, use: () => Promise<T>): Promise<T> {
    const path = join(this.folder, file);
    const original = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, original.replace(text, () => replacement));
    try {
      return await use();
    } finally {
      await Deno.writeTextFile(path, original);
    }
  }

  /** Runs test files one after the other and ends the run at the first failure. @throws Error if they cannot run */
  async #firstFailure(paths: string[]): Promise<Failure | null> {
    const loader = pathToFileURL(join(this.#tests, "support/test_files.ts"));
    const modules = [false, true].map((declares) => paths.filter((path) => DECLARING.test(path) === declares))
      .map((files, index) => {
        const all = JSON.stringify(files.map((path) => join(this.#tests, path)));
        const module = join(this.temporary, `group_${index + 1}.ts`);
        Deno.writeTextFileSync(
          module,
          `import { runTestFiles } from "${loader}";\nrunTestFiles("all", ${all});\n`,
        );
        return module;
      });
    const config = join(this.folder, "deno.json");
    const options = ["-P", "--no-check", "--fail-fast", "--node-modules-dir=manual", "--config", config];
    const run = new Deno.Command(Deno.execPath(), {
      args: ["test", ...options, ...modules],
      cwd: this.folder,
      env: { TMPDIR: this.temporary },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      detached: true, // it leads a process group, which can be killed as a whole
    }).spawn();
    const errors = new Response(run.stderr).text();
    let output = "";
    let failure: Failure | null = null;
    for await (const text of run.stdout.pipeThrough(new TextDecoderStream())) {
      output += stripVTControlCharacters(text);
      failure = this.#failureIn(output);
      if (failure) break;
    }
    if (failure) Deno.kill(-run.pid, "SIGKILL");
    const { success } = await run.status;
    await databaseEnded(join(this.temporary, `steward-tests-${run.pid}`));
    if (failure || success) return failure;
    throw new Error(`the tests could not run:\n${output.slice(-4_000)}${await errors}`);
  }

  /** The first failed test. Its file is the step around it. */
  #failureIn(output: string): Failure | null {
    const found = /^ *(.+?) \.\.\. FAILED|^(Uncaught error from .+) FAILED/m.exec(output);
    if (!found) return null;
    const [, test = "", module = ""] = found;
    const file = output.slice(0, found.index).match(/^ *\S+_test\.tsx?(?= \.\.\.$)/gm)?.at(-1)?.trim();
    const isFile = /_test\.tsx?$/.test(test); // it could not be loaded
    return { test: test || module, file: isFile ? test : file ?? null };
  }
}

/** Copies the files of a working tree, without those that git ignores. */
async function copyTree(of: string, to: string, isWanted: (path: string) => boolean): Promise<void> {
  const args = ["-C", of, "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { stdout } = await new Deno.Command("git", { args }).output();
  for (const path of new Set(new TextDecoder().decode(stdout).split("\0"))) {
    if (path === "" || !isWanted(path)) continue;
    await Deno.mkdir(dirname(join(to, path)), { recursive: true });
    await Deno.copyFile(join(of, path), join(to, path)).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error; // deleted, but still in the index
    });
  }
}

/**
 * Copies the project with its packages, which become hard links if the file system allows it.
 * @param testsFrom the checkout whose tests are used
 */
async function copyProject(root: string, to: string, testsFrom: string): Promise<void> {
  const isTest = (path: string) => path.startsWith("tests/");
  await copyTree(root, to, (path) => !isTest(path));
  await copyTree(testsFrom, to, isTest);
  const packages = join(root, "node_modules");
  const copy = (options: string) =>
    new Deno.Command("cp", { args: [options, packages, to], stderr: "null" }).output();
  if (!(await copy("-al")).success && !(await copy("-a")).success) {
    throw new Error(`${packages} cannot be copied to ${to}`);
  }
  await Deno.remove(join(to, "node_modules", ".cache"), { recursive: true }).catch(() => {});
}

/** Waits until the database of a killed test run has noticed it and removed its folder. */
const databaseEnded = (folder: string) =>
  until(() => Deno.stat(folder).then(() => false, () => true), Boolean, {
    what: "the end of the test database",
    withinMs: 60_000,
  });

const { values: o } = parseArgs({
  options: {
    "only": { type: "string", multiple: true },
    "all-tests": { type: "string", multiple: true },
    "tests-from": { type: "string", default: ROOT },
    "json": { type: "string" },
  },
});
const occurs = ({ file, text }: Fault) => Deno.readTextFileSync(join(ROOT, file)).split(text).length === 2;
const misplaced = FAULTS.filter((fault) => !occurs(fault));
for (const { name, file } of misplaced) console.error(`${name}: its text must occur exactly once in ${file}`);
if (misplaced.length > 0) Deno.exit(1);

const results: Result[] = o.json ? JSON.parse(await Deno.readTextFile(o.json).catch(() => "[]")) : [];
const isDone = new Set(results.map(({ name }) => name));
const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "steward-faults-" }));
const memory = await Deno.stat(MEMORY_FOLDER).catch(() => null);
const temporary = await Deno.makeTempDir({ prefix: "faults-", ...memory ? { dir: MEMORY_FOLDER } : {} });
try {
  await copyProject(ROOT, folder, o["tests-from"]);
  const copy = new Copy(folder, temporary);
  for (const fault of FAULTS) {
    const { name, area } = fault;
    if (isDone.has(name) || o.only && !o.only.includes(name) && !o.only.includes(area)) continue;
    const result = await copy.run(fault, o["all-tests"]);
    results.push(result);
    const { caughtBy, unreliable, seconds } = result;
    const by = caughtBy ? `caught by "${caughtBy.test}" (${caughtBy.file})` : "NOT CAUGHT";
    console.log(`${area}: ${name}: ${by}, ${seconds} s`);
    for (const { test, file } of unreliable) console.log(`  fails without it too: "${test}" (${file})`);
    if (o.json) await Deno.writeTextFile(o.json, JSON.stringify(results, null, 2));
  }
} finally {
  await Promise.all([folder, temporary].map((each) => Deno.remove(each, { recursive: true })));
}
const missed = results.filter(({ caughtBy }) => !caughtBy);
console.log(`${results.length - missed.length} of ${results.length} faults were caught`);
Deno.exit(missed.length > 0 ? 1 : 0);
