// Shows what the processes of a test run did, from the reports they write into the folder of the run.
import { join } from "node:path";
import { processorSeconds } from "./processor_time.ts";
import type { FileReport, ProcessReport } from "./test_files.ts";
import { until } from "./until.ts";

const SLOWEST = 30;

/** The parts of a run's processor time that the databases write when they have stopped. */
const DATABASES = "databases";

/** Called by the process of the databases at its end. */
export const reportDatabases = (run: string): Promise<void> =>
  Deno.writeTextFile(join(run, DATABASES), String(processorSeconds()));

export class RunReports {
  readonly files: FileReport[] = [];
  readonly #processes: ProcessReport[] = [];
  readonly #began = performance.now();
  #databases = 0;
  #lines = new Map<string, number>();

  /** @param folder that of the run */
  constructor(readonly folder: string) {}

  get failed(): number {
    return this.files.reduce((sum, { failures }) => sum + failures.length, 0);
  }

  /** Prints a line for each file that has ended since the last call. */
  show(): void {
    for (const { name } of Deno.readDirSync(this.folder)) {
      if (!name.endsWith(".report")) continue;
      const lines = Deno.readTextFileSync(join(this.folder, name)).split("\n").slice(0, -1);
      for (const line of lines.slice(this.#lines.get(name) ?? 0)) this.#add(JSON.parse(line));
      this.#lines.set(name, lines.length);
    }
  }

  #add(report: FileReport | ProcessReport): void {
    if (!("file" in report)) return void this.#processes.push(report);
    this.files.push(report);
    const { file, passed, failures, ignored, wall } = report;
    const skipped = ignored.length > 0 ? `, ${ignored.length} skipped` : "";
    const state = failures.length > 0 ? "FAILED" : "ok    ";
    console.log(`${state} ${file} (${passed} passed${skipped}, ${wall.toFixed(1)} s)`);
    for (const { test, error } of failures) console.log(`  FAILED ${test}\n${indented(error)}\n`);
  }

  /** Tells the server of the databases that the run has ended, and waits until it has stopped. */
  async stopDatabases(): Promise<void> {
    const server = join(this.folder, "cluster");
    if (!(await Deno.stat(server).catch(() => null))) return;
    await Deno.writeTextFile(join(this.folder, "ended"), "");
    const read = () => Deno.readTextFile(join(this.folder, DATABASES)).catch(() => null);
    this.#databases = Number(await until(read, Boolean, { what: "the end of the test databases" }));
  }

  /** Prints the slowest files, the processor time by cause, skipped and failed tests; then the last line of the run. */
  print(failed: number): void {
    const slowest = this.files.toSorted((a, b) => b.processor - a.processor).slice(0, SLOWEST);
    console.log(`\nThe slowest files: seconds on the clock, and of processor time\n`);
    for (const { file, wall, processor } of slowest) console.log(`${columns(wall, processor)}  ${file}`);
    console.log(`\nProcessor seconds\n`);
    for (const [cause, seconds] of this.#byCause()) {
      console.log(`${seconds.toFixed(0).padStart(6)}  ${cause}`);
    }
    const skipped = this.files.flatMap(({ file, ignored }) => ignored.map((name) => `  ${file}: ${name}`));
    if (skipped.length > 0) console.log(`\nSkipped:\n${skipped.join("\n")}`);
    const names = this.files.flatMap(({ file, failures }) =>
      failures.map(({ test }) => `  ${file}: ${test}`)
    );
    if (names.length > 0) console.log(`\nFailed:\n${names.join("\n")}`);
    const minutes = ((performance.now() - this.#began) / 60_000).toFixed(1);
    const passed = this.files.reduce((sum, { passed }) => sum + passed, 0);
    console.log(
      `\nended after ${minutes} minutes\n${passed} passed, ${failed} failed, ${skipped.length} skipped`,
    );
  }

  #byCause(): [string, number][] {
    const spent = new Map<string, number>();
    for (const file of this.files) {
      for (const [cause, seconds] of Object.entries(file.spent)) {
        spent.set(cause, (spent.get(cause) ?? 0) + (seconds ?? 0));
      }
    }
    const sum = (of: (report: ProcessReport) => number) => this.#processes.reduce((sum, p) => sum + of(p), 0);
    const inTests = sum(({ total }) => total);
    const chromium = spent.get("Chromium") ?? 0;
    const children = sum(({ children }) => children) - chromium;
    const threads = sum(({ workerThreads }) => workerThreads);
    const named = [...spent.values()].reduce((sum, seconds) => sum + seconds, 0);
    const all = processorSeconds() + this.#databases;
    return [
      ["the tests themselves, with the services they ask", inTests - named - children - threads],
      ...spent,
      ["other child processes", children],
      ["threads that hash passwords and render", threads],
      ["Postgres", this.#databases],
      ["format, lint, types; starting the processes", all - inTests - this.#databases],
      ["all", all],
    ];
  }
}

const columns = (...seconds: number[]) => seconds.map((s) => s.toFixed(1).padStart(7)).join("");
const indented = (text: string) => text.split("\n").map((line) => `    ${line}`).join("\n");
