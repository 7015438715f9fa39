// Several test files in one worker. Hooks of `Deno.test` would apply to all tests of the worker: a service would run until
// the last file has ended, and its polling and upkeep would take processor time from the others.

import { withTimeout } from "../../infra/timeout.ts";

/** A test that waits for something that never happens fails after this time, so that the run still ends. */
const TEST_LIMIT_MS = 600_000;

type Hook = () => void | Promise<void>;
type Hooks = Record<"beforeAll" | "beforeEach" | "afterEach" | "afterAll", Hook[]>;
type Definition = Deno.TestDefinition;

const denoTest = Deno.test;

/** Runs after the last test of all files of this worker: for what these files share. */
export const afterAllFiles = (hook: Hook): void => denoTest.afterAll(hook);

/**
 * Loads test files one after the other. Hooks of each file run for its own tests only: what it started ends with its last
 * test.
 */
export async function loadTestFiles(...urls: string[]): Promise<void> {
  for (const url of urls) {
    const file = new TestFile(url);
    Object.assign(Deno, { test: file.test() });
    await import(url);
    await file.loaded();
  }
  Object.assign(Deno, { test: denoTest });
}

/** Tests run in the order in which they were defined, so the tests of a file are not mixed with others. */
class TestFile {
  readonly #hooks: Hooks = { beforeAll: [], beforeEach: [], afterEach: [], afterAll: [] };
  #isStarted = false;
  /** Tests that have not ended, without ignored ones. */
  #left = 0;

  constructor(private readonly url: string) {}

  /** Replaces `Deno.test` while the file is loaded. */
  test(): typeof Deno.test {
    const define = (first: string | Definition, second?: object, third?: Definition["fn"]) => {
      const fn = typeof second === "function" ? second as Definition["fn"] : third;
      const definition = {
        ...(typeof first === "string" ? { name: first } : first),
        ...(typeof second === "object" ? second : {}),
        ...(fn ? { fn } : {}),
      } as Definition;
      if (!definition.ignore) this.#left++;
      denoTest({ ...definition, fn: (context) => this.#run(() => definition.fn(context)) });
    };
    const add = (to: Hook[]) => (hook: Hook) => void to.push(hook);
    const hooks = Object.entries(this.#hooks).map(([name, to]) => [name, add(to)]);
    return Object.assign(define, Object.fromEntries(hooks));
  }

  /** All tests of the file are defined. */
  async loaded(): Promise<void> {
    if (this.#left === 0) await runHooks(this.#hooks.afterAll);
  }

  async #run(test: () => void | Promise<void>): Promise<void> {
    const { beforeAll, beforeEach, afterEach, afterAll } = this.#hooks;
    try {
      if (!this.#isStarted) {
        this.#isStarted = true;
        await runHooks(beforeAll);
      }
      await runHooks(beforeEach);
      const late = () => new Error(`the test did not end within ${TEST_LIMIT_MS / 60_000} minutes`);
      await withTimeout(TEST_LIMIT_MS, Promise.resolve(test()), late);
    } catch (error) {
      console.error(`a test of ${this.url} failed`); // the report names the line above that defines the test
      throw error;
    } finally {
      await runHooks(afterEach);
      if (--this.#left === 0) await runHooks(afterAll);
    }
  }
}

async function runHooks(hooks: Hook[]): Promise<void> {
  for (const hook of hooks) await hook();
}
