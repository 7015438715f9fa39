// `deno task ok`: format, lint, types, and the tests of the gate. `deno task test [PATH…]` and `deno task deep [PATH…]`: one
// tier, its files in some folders, or single files with the options of `deno test`. Several processes share the files of a
// tier; the end of the output says where the time went.
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { RunReports } from "./support/run_report.ts";
import { ONLY_PATHS, testFilesOf, TESTS, type Tier } from "./support/tiers.ts";

/** A file system in memory. A new test database has a thousand files, and creating these on a disk takes ten times as long. */
const MEMORY_FOLDER = "/dev/shm";
/** What all databases and temporary files of a run may need, and what must then be left for its processes. */
const FILES_GIB = 6;
const PROCESSES_GIB = 4;
const GIB = 1024 ** 3;
const REPORT_MS = 300;
/** The end of the output of a crashed process is shown. */
const LAST_CHARACTERS = 20_000;
const CHECKS = [["fmt", "--check", "--quiet"], ["lint", "--quiet"], ["check", "--quiet"]];

const [command, ...paths] = Deno.args;
const tier: Tier = command === "deep" ? "deep" : "gate";
const config = join(TESTS, "..", "deno.json");
// "manual": otherwise each process checks all packages again, which takes longer than loading the service
const TEST = ["test", "-P", "--no-check", "--node-modules-dir=manual", "--config", config];
/** A larger space for new objects is collected less often. The deep tier measures memory, so it has the usual one. */
const V8_FLAGS = tier === "gate" ? ["--v8-flags=--min-semi-space-size=32,--max-semi-space-size=64"] : [];

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

const kindOf = (path: string) => Deno.stat(path).catch(() => null);
const isSingle = (await Promise.all(paths.map(kindOf))).some((path) => path?.isFile);
if (!isSingle && paths.length > 0) Deno.env.set(ONLY_PATHS, paths.join(","));
const environment = { ...await temporaryFolder(), ...Deno.env.toObject() };

/** Runs `deno` with its output kept. */
async function quietly(args: string[], env: Record<string, string> = {}) {
  const o = {
    args,
    env: { ...environment, ...env },
    stdout: "piped",
    stderr: "piped",
  } as const;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), o).output();
  const text = new TextDecoder();
  return { args, code, output: text.decode(stdout) + text.decode(stderr) };
}

/** Format, lint and types, one after the other. @returns how many failed */
async function runChecks(): Promise<number> {
  let failed = 0;
  for (const args of CHECKS) {
    const { code, output } = await quietly(args);
    if (code === 0) continue;
    console.log(`FAILED deno ${args.join(" ")}\n${output}`);
    failed++;
  }
  return failed;
}

/** Runs all files of the tier in several processes. @returns how many tests failed, and files that did not end */
async function runTier(reports: RunReports): Promise<number> {
  const { folder } = reports;
  await Deno.chmod(folder, 0o711); // the server of the databases runs as another user
  await Deno.mkdir(join(folder, "taken"));
  await Deno.mkdir(join(folder, "tmp"), { mode: 0o711 }); // removed with all that tests leave there
  const env = {
    TMPDIR: join(folder, "tmp"),
    STEWARD_TEST_RUN: folder,
    STEWARD_TEST_RUNNER: String(Deno.pid),
    NO_COLOR: "1",
  };
  const cores = navigator.hardwareConcurrency;
  const modules = tier === "deep"
    ? Array.from({ length: cores }, () => "deep.ts")
    : ["gate_declaring.ts", ...Array.from({ length: cores }, () => "gate.ts")]; // tests often wait
  const run = (module: string) => quietly([...TEST, ...V8_FLAGS, join(TESTS, module)], env);
  const showing = setInterval(() => reports.show(), REPORT_MS);
  const ended = await Promise.all(modules.map(run));
  if (tier === "deep") ended.push(await run("deep_alone.ts"));
  clearInterval(showing);
  await reports.stopDatabases();
  reports.show();
  const lost = testFilesOf(tier).length - reports.files.length;
  const crashed = ended.filter(({ code }) => code !== 0);
  const isUnexplained = lost > 0 || (crashed.length > 0 && reports.failed === 0);
  if (isUnexplained) { for (const { output } of crashed) console.log(output.slice(-LAST_CHARACTERS)); }
  if (lost > 0) console.log(`FAILED: ${lost} test files did not run to their end`);
  return reports.failed + (isUnexplained ? Math.max(lost, 1) : 0);
}

const install = await quietly(["install", "--quiet", "--config", config]);
if (install.code !== 0) {
  console.log(install.output);
  Deno.exit(1);
}
if (isSingle) {
  const args = [...TEST, "--parallel", ...paths];
  const { code } = await new Deno.Command(Deno.execPath(), { args, env: environment }).spawn().status;
  Deno.exit(code);
}
if (tier === "deep") {
  const programs = join(TESTS, "..", ".ci", "programs");
  await new Deno.Command("bash", { args: [programs, "all"], env: environment }).spawn().status;
}
const reports = new RunReports(await Deno.makeTempDir({ prefix: "steward-tests-", dir: environment.TMPDIR }));
const failures = await Promise.all([runTier(reports), command === "ok" ? runChecks() : 0]);
reports.print(failures[0] + failures[1]);
await Deno.remove(reports.folder, { recursive: true });
Deno.exit(failures[0] + failures[1] === 0 ? 0 : 1);
