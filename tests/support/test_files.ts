// Several test files in one process, which loads the service once. Each file is one test; its own tests are steps. A file
// is loaded when its turn comes, so what it starts does not run beside the tests of others.
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { withTimeout } from "../../infra/timeout.ts";
import { childSeconds, processorSeconds, spendOn, takeSpent, workerThreadSeconds } from "./processor_time.ts";
import { TESTS } from "./tiers.ts";

/** A test that waits for something that never happens fails after this time, so that the run still ends. */
const TEST_LIMIT_MS = 600_000;

/** The folder that the processes of one run share, see `tests/run.ts`. Absent: this process runs all files. */
const RUN = Deno.env.get("STEWARD_TEST_RUN");

type Hook = () => void | Promise<void>;
type Hooks = Record<"beforeAll" | "beforeEach" | "afterEach" | "afterAll", Hook[]>;
type Definition = Deno.TestDefinition;

/** A file reports this when it has ended. Times are seconds; `spent` is part of `processor`. */
export interface FileReport {
  file: string;
  wall: number;
  processor: number;
  spent: Partial<Record<string, number>>;
  passed: number;
  failures: { test: string; error: string }[];
  ignored: string[];
}

/** A process reports these seconds when it has run all files it could get. */
export interface ProcessReport {
  total: number;
  children: number;
  workerThreads: number;
}

const denoTest = Deno.test;
let runsSeveralFiles = false;
const atEnd: Hook[] = [];

/** True if this process runs several test files, one after the other. */
export const isOneOfSeveralFiles = (): boolean => runsSeveralFiles;

/** Runs after the last test of all files of this process: for what these files share. */
export function afterAllFiles(hook: Hook): void {
  if (runsSeveralFiles) atEnd.push(hook);
  else denoTest.afterAll(hook);
}

/** Defines a test that runs `files` in their order; with `RUN`, those that no other process took. */
export function runTestFiles(name: string, files: string[]): void {
  runsSeveralFiles = true;
  denoTest({
    name,
    // services that several files share run until the end
    sanitizeOps: false,
    sanitizeResources: false,
    async fn(context) {
      for (const file of files) {
        if (!take(file)) continue;
        const name = relative(TESTS, file);
        await context.step({ name, fn: (context) => new TestFile(file, name).run(context) });
      }
      await runHooks(atEnd);
      report({ total: processorSeconds(), children: childSeconds(), workerThreads: workerThreadSeconds() });
    },
  });
}

/** Only one process of a run gets `true` for a file. */
function take(file: string): boolean {
  if (!RUN) return true;
  try {
    Deno.mkdirSync(join(RUN, "taken", relative(TESTS, file).replaceAll(/[\\/]/g, ",")));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw error;
  }
}

/** Adds a line to the report of this process. */
function report(line: FileReport | ProcessReport): void {
  if (!RUN) return;
  Deno.writeTextFileSync(join(RUN, `${Deno.pid}.report`), `${JSON.stringify(line)}\n`, { append: true });
}

class TestFile {
  readonly #hooks: Hooks = { beforeAll: [], beforeEach: [], afterEach: [], afterAll: [] };
  readonly #tests: Definition[] = [];
  readonly #failures: FileReport["failures"] = [];

  constructor(private readonly path: string, private readonly name: string) {}

  /** Loads the file and runs its tests, in the order in which they are defined. */
  async run(context: Deno.TestContext): Promise<void> {
    const [began, before] = [performance.now(), processorSeconds()];
    takeSpent();
    const ignored: string[] = [];
    let passed = 0;
    try {
      await this.#load();
      await runHooks(this.#hooks.beforeAll);
      for (const test of this.#tests) {
        if (test.ignore) ignored.push(test.name);
        const isPassed = await context.step({ ...test, fn: (context) => this.#runTest(test, context) });
        if (isPassed && !test.ignore) passed++;
        if (!isPassed && !test.ignore && this.#failures.at(-1)?.test !== test.name) {
          this.#fail(test.name, "something it started did not end with it; see the output of the process");
        }
      }
    } catch (error) {
      this.#fail("(loading the file)", error);
    }
    await runHooks(this.#hooks.afterAll).catch((error) => this.#fail("(after all tests)", error));
    report({
      file: this.name,
      wall: (performance.now() - began) / 1000,
      processor: processorSeconds() - before,
      spent: takeSpent(),
      passed,
      failures: this.#failures,
      ignored,
    });
    if (this.#failures.length > 0) throw new Error(`${this.#failures.length} failed in ${this.name}`);
  }

  async #load(): Promise<void> {
    Object.assign(Deno, { test: this.#definer() });
    try {
      await spendOn("loading modules", () => import(String(pathToFileURL(this.path))));
    } finally {
      Object.assign(Deno, { test: denoTest });
    }
  }

  /** Replaces `Deno.test` while the file is loaded. */
  #definer(): typeof Deno.test {
    const define = (first: string | Definition, second?: object, third?: Definition["fn"]) => {
      const fn = typeof second === "function" ? second as Definition["fn"] : third;
      this.#tests.push({
        ...(typeof first === "string" ? { name: first } : first),
        ...(typeof second === "object" ? second : {}),
        ...(fn ? { fn } : {}),
      } as Definition);
    };
    const add = (to: Hook[]) => (hook: Hook) => void to.push(hook);
    const hooks = Object.entries(this.#hooks).map(([name, to]) => [name, add(to)]);
    return Object.assign(define, Object.fromEntries(hooks));
  }

  async #runTest(test: Definition, context: Deno.TestContext): Promise<void> {
    const { beforeEach, afterEach } = this.#hooks;
    const late = () => new Error(`the test did not end within ${TEST_LIMIT_MS / 60_000} minutes`);
    try {
      await runHooks(beforeEach);
      try {
        await withTimeout(TEST_LIMIT_MS, Promise.resolve(test.fn(context)), late);
      } finally {
        await runHooks(afterEach);
      }
    } catch (error) {
      this.#fail(test.name, error);
      throw error;
    }
  }

  #fail(test: string, error: unknown): void {
    this.#failures.push({ test, error: described(error) });
  }
}

/** An error with its stack and its causes. */
function described(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.stack ?? String(error);
  return error.cause === undefined ? text : `${text}\nCaused by: ${described(error.cause)}`;
}

async function runHooks(hooks: Hook[]): Promise<void> {
  for (const hook of hooks) await hook();
}
