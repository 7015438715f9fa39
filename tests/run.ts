// `deno task test [FILE…]`: without a file, runs all tests in groups. The files of a group are loaded by one module, so
// they share a worker and load the modules of the service once.
import { statfs } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { stripVTControlCharacters } from "node:util";

const FILES_OF_A_GROUP = 20;
/** Failed tests run once more if they are in at most this many groups. */
const REPEATED_GROUPS = 3;
/** These take long, or measure time or memory. They start first, each in a group of its own. */
const ALONE = [
  "operations/instances_test.ts",
  "scripts/new_extension_test.ts",
  "routes/console/walk_test.ts",
  "main_test.ts",
  "operations/clock_test.ts",
  "infra/scanner/yara_test.ts",
  "infra/objectstore/client_test.ts",
  "infra/objectstore/memory_test.ts",
  "routes/auth/password_time_test.ts",
  "domain/jobs/due_times_test.ts",
  "scripts/example/example_test.ts",
];
/** Tests that declare problems, channels or resources, which are known in the whole worker. They share one. */
const DECLARING = /^routes\/(extensions\/|resources\/new_resource_test)/;
/** They build the examples of all languages once. They take long, so they start early. */
const WORKERS = /^scripts\/workers\//;

/** A file system in memory. A new test database has a thousand files, and creating these on a disk takes ten times as long. */
const MEMORY_FOLDER = "/dev/shm";
/** What all databases and temporary files of a run may need, and what must then be left for its processes. */
const FILES_GIB = 6;
const PROCESSES_GIB = 4;
const GIB = 1024 ** 3;

const TESTS = import.meta.dirname ?? ".";

function testFiles(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) => {
    if (isDirectory) return testFiles(join(folder, name));
    return /_test\.tsx?$/.test(name) ? [join(folder, name)] : [];
  }).sort();
}

/** Writes one module for each group to `folder`. @returns the paths of the modules */
async function writeGroups(folder: string): Promise<string[]> {
  const alone = ALONE.map((file) => join(TESTS, file));
  const shared = testFiles(TESTS).filter((file) => !alone.includes(file));
  const matching = (names: RegExp) => shared.filter((file) => names.test(relative(TESTS, file)));
  const [workers, declaring] = [matching(WORKERS), matching(DECLARING)];
  const others = shared.filter((file) => !workers.includes(file) && !declaring.includes(file));
  const groups = [workers, ...alone.map((file) => [file]), declaring];
  while (others.length > 0) groups.push(others.splice(0, FILES_OF_A_GROUP));
  return await Promise.all(groups.map(async (files, index) => {
    const path = join(folder, `group_${index + 1}.ts`);
    const urls = JSON.stringify(files.map((file) => String(pathToFileURL(file))));
    const loader = pathToFileURL(join(TESTS, "support/test_files.ts"));
    const load = `import { loadTestFiles } from "${loader}";\nawait loadTestFiles(...${urls});\n`;
    await Deno.writeTextFile(path, load);
    return path;
  }));
}

const folder = await Deno.makeTempDir({ prefix: "steward-test-groups-" });
const config = join(TESTS, "..", "deno.json"); // the groups are outside the project

/** The folder of temporary files, for TMPDIR: in memory if there is enough. */
async function temporaryFolder(): Promise<Record<string, string>> {
  const size = await statfs(MEMORY_FOLDER).catch(() => null);
  const isLarge = size !== null && size.bavail * size.bsize >= FILES_GIB * GIB &&
    Deno.systemMemoryInfo().available >= (FILES_GIB + PROCESSES_GIB) * GIB;
  if (!isLarge) return {};
  const mounts = (await Deno.readTextFile("/proc/mounts")).split("\n").map((line) => line.split(" "));
  const options = mounts.find(([, folder]) => folder === MEMORY_FOLDER)?.[3]?.split(",");
  const runsPrograms = options !== undefined && !options.includes("noexec"); // tests compile programs there
  return runsPrograms ? { TMPDIR: MEMORY_FOLDER } : {};
}

/** Runs `deno test` and shows its output. @returns the output without colours, and whether all tests passed */
async function runTests(files: string[], o: string[]): Promise<{ output: string; passed: boolean }> {
  const color: Record<string, string> = Deno.stdout.isTerminal() ? { FORCE_COLOR: "1" } : {};
  const run = new Deno.Command(Deno.execPath(), {
    // Tests wait for other processes half of the time, so more of them run than there are cores.
    env: {
      DENO_JOBS: String(2 * navigator.hardwareConcurrency),
      ...await temporaryFolder(),
      ...Deno.env.toObject(),
      ...color,
    },
    // "manual": otherwise each worker checks all packages again, which takes longer than loading the service
    args: ["test", "-P", "--no-check", "--node-modules-dir=manual", "--config", config, ...o, ...files],
    stdout: "piped",
  }).spawn();
  let output = "";
  for await (const text of run.stdout.pipeThrough(new TextDecoderStream())) {
    output += stripVTControlCharacters(text);
    await Deno.stdout.write(new TextEncoder().encode(text));
  }
  return { output, passed: (await run.status).success };
}

/**
 * Runs the groups of failed tests once more, one after the other. A test that passes now failed by chance: its name is
 * printed, because it has a fault too, but the run passes. Nothing is repeated if more than `REPEATED_GROUPS` groups failed
 * or a file could not be loaded.
 */
async function repeatFailed(output: string): Promise<boolean> {
  const failures = [...output.matchAll(/^(\S+group_\d+\.ts) => (.+) \.\.\. FAILED/gm)];
  const groups = [...new Set(failures.map(([, group = ""]) => join(folder, basename(group))))];
  const [, passed, failed] = /^FAILED \| (\d+) passed.* \| (\d+) failed/m.exec(output) ?? [];
  const isComplete = failures.length === Number(failed);
  if (groups.length === 0 || groups.length > REPEATED_GROUPS || !isComplete) return false;
  console.log(`\nFailed tests run once more, alone:`);
  if (!(await runTests(groups, [])).passed) {
    console.log(`FAILED | ${passed} passed | ${failed} failed`);
    return false;
  }
  for (const [, , name] of failures) console.log(`passed only when it ran alone: ${name}`);
  console.log(`ok | ${Number(passed) + Number(failed)} passed | 0 failed`);
  return true;
}

const { args } = Deno;
const install = new Deno.Command(Deno.execPath(), { args: ["install", "--quiet", "--config", config] });
if (!(await install.spawn().status).success) Deno.exit(1);
const { output, passed } = await runTests(args.length > 0 ? args : await writeGroups(folder), ["--parallel"]);
const passes = passed || (args.length === 0 && await repeatFailed(output));
await Deno.remove(folder, { recursive: true });
Deno.exit(passes ? 0 : 1);
