// `deno task test [FILE…]`: without a file, runs all tests in groups. The files of a group are imported by one module, so
// they share a worker and load the modules of the service once.
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";

const FILES_OF_A_GROUP = 8;
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
    const imports = files.map((file) => `import "${pathToFileURL(file)}";\n`);
    await Deno.writeTextFile(path, imports.join(""));
    return path;
  }));
}

const folder = await Deno.makeTempDir({ prefix: "steward-test-groups-" });
const given = Deno.args.length > 0 ? Deno.args : await writeGroups(folder);
const config = join(TESTS, "..", "deno.json"); // the groups are outside the project
/** Tests wait for other processes half of the time, so more of them run than there are cores. */
const jobs = Deno.env.get("DENO_JOBS") ?? String(2 * navigator.hardwareConcurrency);
const { code } = await new Deno.Command(Deno.execPath(), {
  env: { DENO_JOBS: jobs },
  args: ["test", "-P", "--no-check", "--parallel", "--config", config, ...given],
}).spawn().status;
await Deno.remove(folder, { recursive: true });
Deno.exit(code);
