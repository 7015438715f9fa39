// Runs the example of every worker loop of scripts/client/workers as a process.
import assert from "node:assert/strict";
import { join } from "node:path";
import { documentOfRoutes } from "../../scripts/client/document.ts";
import { generateClient } from "../../scripts/client/generate.ts";
import { run, succeeds } from "./processes.ts";
import { requestFront } from "./request_front.ts";
import type { Actor, TestService } from "./setup.ts";
import { afterAllFiles } from "./test_files.ts";
import { until } from "./until.ts";

const CLIENT = join(import.meta.dirname ?? ".", "../../scripts/client");
const LOOPS = join(CLIENT, "workers");

/** Six workers at a time wait for answers that a test stalls for many seconds. */
const REACHED_WITHIN_MS = 120_000;

interface Language {
  name: string;
  /** Succeeds if the language can be used. */
  check: [program: string, ...args: string[]];
  /** Makes the program in the folder. */
  build?(folder: string): Promise<unknown>;
  command(folder: string): string[];
  /** Exit code after SIGTERM; default 0. */
  exitCode?: number;
}

const LANGUAGES: Language[] = [
  {
    name: "Python",
    check: ["python3", "-c", "import sys; sys.exit(sys.version_info < (3, 9))"],
    command: () => ["python3", join(LOOPS, "python/example.py")],
  },
  {
    name: "Go",
    check: ["go", "version"],
    build(folder) {
      const output = join(folder, "go-example");
      // works without a C compiler, and in a checkout of another user
      const args = ["CGO_ENABLED=0", "go", "build", "-buildvcs=false", "-o", output, "./example"];
      return run("env", args, { cwd: join(LOOPS, "go") });
    },
    command: (folder) => [join(folder, "go-example")],
  },
  {
    name: "Java",
    check: ["javac", "-version"],
    build: (folder) =>
      run("sh", ["-c", `javac -Xlint:all,-serial -Werror -d '${folder}' *.java`], {
        cwd: join(LOOPS, "java"),
      }),
    command: (folder) => ["java", "-XX:TieredStopAtLevel=1", "-cp", folder, "Example"],
    exitCode: 143, // the JVM always reports the signal
  },
  {
    name: "Ruby",
    check: ["ruby", "-e", "exit RUBY_VERSION >= '3.0'"],
    command: () => ["ruby", "-w", join(LOOPS, "ruby/example.rb")],
  },
  {
    name: "PHP",
    check: ["php", "-r", "exit(PHP_VERSION_ID >= 80100 && extension_loaded('curl') ? 0 : 1);"],
    command: () => ["php", join(LOOPS, "php/example.php")],
  },
  {
    name: "TypeScript",
    check: [Deno.execPath(), "--version"],
    async build(folder) {
      await Deno.writeTextFile(join(folder, "mod.ts"), generateClient(await documentOfRoutes()));
      for (const file of ["transport.ts", "helpers.ts", "work.ts", "work_types.ts"]) {
        await Deno.copyFile(join(CLIENT, file), join(folder, file));
      }
      await Deno.copyFile(join(LOOPS, "typescript/example.mjs"), join(folder, "example.mjs"));
      await Deno.writeTextFile(
        join(folder, "deno.json"),
        `{ "imports": { "@steward/client": "./mod.ts" } }`,
      );
    },
    command: (folder) => [Deno.execPath(), "run", "--no-check", "-A", join(folder, "example.mjs")],
  },
];

const usable = new Map(
  await Promise.all(
    LANGUAGES.map(async (language) => [language.name, await succeeds(...language.check)] as const),
  ),
);

let folder: Promise<string> | undefined;
const built = new Map<string, Promise<unknown>>();

/** Builds the program once for all tests of this process. @returns its command */
async function commandOf(language: Language): Promise<string[]> {
  folder ??= Deno.makeTempDir({ prefix: "steward-worker-loops-" });
  const into = join(await folder, language.name);
  if (!built.has(language.name)) {
    await Deno.mkdir(into, { recursive: true });
    built.set(language.name, language.build?.(into) ?? Promise.resolve());
  }
  await built.get(language.name);
  return language.command(into);
}

/** A worker of one language with a tenant of its own, and a front that sees and disturbs its requests. */
class LoopUnderTest {
  #process: Deno.ChildProcess | undefined;
  output = "";

  private constructor(
    readonly t: TestService,
    readonly language: Language,
    readonly actor: Actor,
    readonly front: Awaited<ReturnType<typeof requestFront>>,
  ) {}

  static async prepare(t: TestService, language: Language): Promise<LoopUnderTest> {
    const actor = await t.actor({ permissions: ["manage:job-types", "work:jobs"] });
    const { status, body } = await actor.put("/api/v1/job-types/invoice.render", {});
    assert.equal(status, 201, JSON.stringify(body));
    return new LoopUnderTest(t, language, actor, await requestFront(t.url));
  }

  async start(): Promise<void> {
    const [program = "", ...args] = await commandOf(this.language);
    const process = new Deno.Command(program, {
      args,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      env: {
        STEWARD_URL: this.front.url,
        STEWARD_KEY: this.actor.token ?? "",
        STEWARD_QUEUE: "invoices",
      },
    }).spawn();
    this.#process = process;
    for (const stream of [process.stdout, process.stderr]) this.#collect(stream);
  }

  async #collect(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) this.output += text;
  }

  async kill(): Promise<void> {
    this.#process?.kill("SIGKILL");
    await this.#process?.status;
  }

  /** Stops the worker as a process manager does. @returns seconds until its end */
  async stop(): Promise<number> {
    const since = performance.now();
    this.#process?.kill("SIGTERM");
    const status = await this.#process?.status;
    this.#process = undefined;
    assert.equal(status?.code, this.language.exitCode ?? 0, this.output);
    return (performance.now() - since) / 1000;
  }

  /** Waits until the worker ends by itself. @returns its exit code */
  async ended(): Promise<number | undefined> {
    const status = await this.#process?.status;
    this.#process = undefined;
    return status?.code;
  }

  async close(): Promise<void> {
    if (this.#process) await this.kill();
    await this.front.stop();
  }

  async enqueue(...invoices: Record<string, unknown>[]): Promise<string[]> {
    const items = invoices.map((invoice) => ({
      jobTypeName: "invoice.render",
      queue: "invoices",
      serializedArgs: JSON.stringify(invoice),
    }));
    const { status, body } = await this.actor.post("/api/v1/jobs/bulk", { items });
    assert.equal(status, 200, JSON.stringify(body));
    return body.results.map(({ id }: { id: string }) => id);
  }

  read = async (id: string) => (await this.actor.get(`/api/v1/jobs/${id}`)).body;

  executions = async (id: string) => (await this.actor.get(`/api/v1/jobs/${id}/executions`)).body.items;

  logLines = async (id: string) =>
    (await this.actor.get(`/api/v1/jobs/${id}/executions/1/log?pageSize=100`)).body;

  /** The failures that count against a job, and the seconds until it is due. */
  async counted(id: string): Promise<{ failures: number; lostLeases: number; dueIn: number }> {
    const [row] = await this.t.steward.platform.sql<
      { failures: number; lostLeases: number; dueIn: number }[]
    >`
      select failures, lost_leases, extract(epoch from due_at - now())::float8 as due_in from jobs where id = ${id}`;
    return row ?? assert.fail();
  }

  /** Waits until the job has the status. */
  reaches = (id: string, status: string) =>
    until(() => this.read(id), (job) => job.status === status, {
      what: `${this.language.name}: ${status}`,
      withinMs: REACHED_WITHIN_MS,
    });

  /** Number of jobs of the worker's tenant by status. */
  async counts(): Promise<Record<string, number>> {
    const rows = await this.t.steward.platform.sql<{ status: string; n: number }[]>`
      select status, count(*)::int as n from jobs where tenant_id = ${this.actor.tenantId} group by 1`;
    return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
  }
}

/** Declares a test for each language. They run at the same time; a test is ignored if its language is missing. */
export function inEveryLanguage(
  t: TestService,
  behaviour: string,
  behave: (loop: LoopUnderTest) => Promise<void>,
): void {
  let runs: Promise<Map<string, Promise<unknown>>> | undefined;
  const runIn = async (loop: LoopUnderTest): Promise<unknown> => {
    try {
      await behave(loop);
      return null;
    } catch (error) {
      return new Error(`${loop.language.name}: ${loop.output}`, { cause: error });
    } finally {
      await loop.close();
    }
  };
  const runAll = async () => {
    const loops: LoopUnderTest[] = [];
    for (const language of LANGUAGES) {
      if (usable.get(language.name)) loops.push(await LoopUnderTest.prepare(t, language));
    }
    return new Map(loops.map((loop) => [loop.language.name, runIn(loop)]));
  };
  for (const language of LANGUAGES) {
    Deno.test({
      name: `${language.name}: ${behaviour}`,
      ignore: !usable.get(language.name),
      sanitizeOps: false, // the other languages run at the same time
      sanitizeResources: false,
      async fn() {
        const error = await (await (runs ??= runAll())).get(language.name);
        if (error) throw error;
      },
    });
  }
}

afterAllFiles(async () => {
  if (folder) await Deno.remove(await folder, { recursive: true });
});
