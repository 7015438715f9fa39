// Processor time of a test run, by cause. Linux only: elsewhere all of it is 0.

const TICKS_PER_SECOND = 100;

/** The processor time of a test file is counted by cause; the rest is the tests themselves. */
export type Cause = "loading modules" | "starting services" | "Chromium";

/** Seconds of this process so far. */
const spent = new Map<Cause, number>();

/** A file of /proc; empty if its process has ended, or the system is not Linux. */
function read(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || (error as { code?: string }).code === "ESRCH") return "";
    throw error;
  }
}

/** The folders of a process's threads. */
function tasksOf(pid: number | "self"): string[] {
  const folder = `/proc/${pid}/task`;
  try {
    return [...Deno.readDirSync(folder)].map(({ name }) => `${folder}/${name}`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** The numbers of `/proc/…/stat` after the name, from the state on. */
function statOf(path: string): string[] {
  const text = read(path);
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

/** User and system seconds of a process with its ended children. */
export function processorSeconds(pid: number | "self" = "self"): number {
  return ownSeconds(pid) + childSeconds(pid);
}

const secondsIn = (stat: string[], from: number) =>
  (Number(stat[from] ?? 0) + Number(stat[from + 1] ?? 0)) / TICKS_PER_SECOND;
const ownSeconds = (pid: number | "self") => secondsIn(statOf(`/proc/${pid}/stat`), 11);

/** User and system seconds of the ended child processes of this process, and of the children they have waited for. */
export const childSeconds = (pid: number | "self" = "self"): number =>
  secondsIn(statOf(`/proc/${pid}/stat`), 13);

/** Adds the processor time of `work` to a cause; inner causes count for themselves only. */
export async function spendOn<T>(cause: Cause, work: () => Promise<T>): Promise<T> {
  const [before, counted] = [processorSeconds(), total()];
  try {
    return await work();
  } finally {
    add(cause, processorSeconds() - before - (total() - counted));
  }
}

function add(cause: Cause, seconds: number): void {
  spent.set(cause, (spent.get(cause) ?? 0) + seconds);
}

const total = () => [...spent.values()].reduce((sum, seconds) => sum + seconds, 0);

/** Call before a Chromium is closed: its processes count for Chromium, not for other child processes. */
export function countChromium(): void {
  add("Chromium", descendants(Deno.pid, /^chrom/).reduce((sum, pid) => sum + ownSeconds(pid), 0));
}

/** Running processes below `pid`; the direct children only if their name fits. */
function descendants(pid: number, name = /(?:)/): number[] {
  const children = childrenOf(pid).filter((child) => name.test(read(`/proc/${child}/comm`)));
  return children.flatMap((child) => [child, ...descendants(child)]);
}

const childrenOf = (pid: number): number[] =>
  tasksOf(pid).flatMap((task) => read(`${task}/children`).split(" ").filter(Boolean).map(Number));

/** Seconds of the worker threads that run: they hash passwords and render templates and documents. */
export function workerThreadSeconds(): number {
  const workers = tasksOf("self").filter((task) => read(`${task}/comm`).startsWith("worker-"));
  return workers.reduce((sum, task) => sum + secondsIn(statOf(`${task}/stat`), 11), 0);
}

/** Seconds by cause since the last call. */
export function takeSpent(): Partial<Record<Cause, number>> {
  const taken = Object.fromEntries(spent);
  spent.clear();
  return taken;
}
