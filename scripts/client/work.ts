// Runs jobs in this process: claims, heartbeats and results. This file is copied unchanged into the package.
import { pause, StewardProblem, type Transport } from "./transport.ts";
import {
  type Handlers,
  HopelessJob,
  JobInterrupted,
  Postpone,
  type WorkContext,
  type WorkOptions,
} from "./work_types.ts";

type Key = { jobId: string; attempt: number };
type Given = Omit<WorkContext, "signal" | "progress" | "log"> & { args: unknown };
type Result = { outcome: string; [more: string]: unknown };
type Claimed = { leaseSeconds: number; jobs: Given[] };
type Renewed = { jobs: (Key & { state: "held" | "lost" | "cancel" })[]; drain: boolean };
type Line = { level: string; message: string; fields?: Record<string, unknown> | undefined };

/** A job that is claimed and not yet settled. */
interface Held {
  key: Key;
  ending: AbortController;
  /** The last progress; null once it was sent. */
  progress: { percent: number; note: string | undefined } | null;
  lines: Line[];
  /** Absent while the handler runs. */
  result?: Result;
}

const SETTLED_AT_ONCE = 100; // 100 outputs of 64 KiB fit into the 8 MiB of a request
const [LINES_OF_A_JOB, LINES_AT_ONCE] = [100, 2_000]; // log lines in a heartbeat: at most 4 of its 8 MiB
const [OUTPUT_BYTES, ERROR_BYTES, LINE_BYTES, NOTE_BYTES] = [64 << 10, 8 << 10, 2 << 10, 500];
const ESCAPED_BYTES = 300; // of a message that becomes too long in JSON, where a byte may take six
const [LONG_POLL_S, LONGEST_BEAT_MS, LONGEST_PAUSE_MS] = [20, 10_000, 15_000];
const COLLECT_MS = 10; // pause before a request, in which its jobs are collected

/** Claims jobs of the handlers' types and runs them. */
export class WorkLoop {
  readonly #stopping: AbortSignal;
  readonly #over = new AbortController();
  readonly #held = new Map<string, Held>();
  #beatMs = LONGEST_BEAT_MS;
  #nextBeat = 0;
  #claimsFrom = 0; // in the future while the service drains
  #waiters: (() => void)[] = [];

  constructor(
    readonly transport: Transport,
    readonly handlers: Handlers,
    readonly options: WorkOptions = {},
  ) {
    this.#stopping = options.signal ?? new AbortController().signal;
  }

  /** Works until `signal` is aborted. @throws StewardProblem if the service refuses to give jobs */
  async run(): Promise<void> {
    const reporting = this.#reportLoop();
    const graceMs = (this.options.graceSeconds ?? 20) * 1000;
    let graceEnds = 0;
    this.#stopping.addEventListener("abort", () => graceEnds = Date.now() + graceMs, { once: true });
    try {
      await this.#claimLoop();
    } finally {
      graceEnds ||= Date.now() + graceMs; // the claims were refused
      await this.#until(() => this.#running().length === 0, graceEnds - Date.now());
      for (const job of this.#running()) {
        job.ending.abort(new JobInterrupted("stopping"));
        this.#end(job, { outcome: "released" });
      }
      await this.#until(() => this.#held.size === 0, 5_000);
      this.#over.abort();
      await reporting;
    }
  }

  async #claimLoop(): Promise<void> {
    const worker = this.options.name ?? `javascript-${crypto.randomUUID().slice(0, 8)}`;
    const { queues } = this.options;
    const claim = { types: Object.keys(this.handlers), ...(queues?.length ? { queues } : {}), worker };
    let body: object | null = null; // a request whose answer was lost is repeated with the same requestId
    for (let failures = 0, max = 0; (max = await this.#places()) > 0;) {
      body ??= { ...claim, max, waitSeconds: LONG_POLL_S, requestId: crypto.randomUUID() };
      try {
        this.#start(await this.#post("claim", body, (LONG_POLL_S + 15) * 1000, this.#stopping));
        [body, failures] = [null, 0];
      } catch (error) {
        if (isRefusal(error)) throw error;
        await this.#pause(error, ++failures, this.#stopping);
      }
    }
    if (!body) return;
    const interrupted = this.#post<Claimed>("claim", { ...body, max: 1, waitSeconds: 0 }, 5_000);
    await interrupted.then((claimed) => this.#start(claimed), () => {}); // otherwise its jobs would wait for the end of their lease
  }

  /** Number of jobs to claim; 0 when the worker stops. Results that are not settled limit it too. */
  async #places(): Promise<number> {
    const concurrency = this.options.concurrency ?? 10;
    await pause(COLLECT_MS);
    while (!this.#stopping.aborted) {
      const places = Math.min(concurrency - this.#running().length, 2 * concurrency - this.#held.size, 500);
      if (places > 0 && Date.now() >= this.#claimsFrom) return places;
      await this.#wait(500);
    }
    return 0;
  }

  #start({ leaseSeconds, jobs }: Claimed): void {
    this.#beatMs = Math.min(leaseSeconds * 1000 / 3, LONGEST_BEAT_MS);
    if (this.#held.size === 0) this.#nextBeat = Date.now() + this.#beatMs;
    for (const given of jobs) {
      const key = { jobId: given.jobId, attempt: given.attempt };
      if (this.#held.has(nameOf(key))) continue; // a repeated claim may return the job twice
      const job: Held = { key, ending: new AbortController(), progress: null, lines: [] };
      this.#held.set(nameOf(key), job);
      if (this.#stopping.aborted) this.#end(job, { outcome: "released" });
      else this.#run(given, job);
    }
  }

  async #run(given: Given, job: Held): Promise<void> {
    const { args, ...facts } = given;
    const context: WorkContext = {
      ...facts,
      signal: job.ending.signal,
      progress(percent, note) {
        job.progress = { percent: Math.max(0, Math.min(100, percent)), note: note && cut(note, NOTE_BYTES) };
      },
      log(level, message, fields) {
        job.lines.push(fitting({ level, message: cut(message, LINE_BYTES / 2), fields }));
      },
    };
    try {
      const output = await this.handlers[given.jobTypeName]?.(args, context) ?? null;
      const size = sizeOf(output);
      if (size > OUTPUT_BYTES) throw new Error(`the output has ${size} bytes, the limit is ${OUTPUT_BYTES}`);
      this.#end(job, { outcome: "succeeded", output });
    } catch (error) {
      this.#end(job, failureOf(error));
    }
  }

  #end(job: Held, result: Result): void {
    job.result ??= result;
    this.#notify();
  }

  #running = (): Held[] => [...this.#held.values()].filter(({ result }) => !result);

  /** Sends heartbeats and results, one request after another. */
  async #reportLoop(): Promise<void> {
    let atOnce = SETTLED_AT_ONCE;
    for (let failures = 0; !this.#over.signal.aborted;) {
      if (this.#running().length === this.#held.size) await this.#wait(500);
      await pause(COLLECT_MS);
      const held = [...this.#held.values()];
      const ended = held.filter(({ result }) => result).slice(0, atOnce);
      const due = this.#nextBeat - (held.some(hasReport) ? Math.max(0, this.#beatMs - 1_000) : 0);
      try {
        if (ended.some(hasReport) || (held.length > 0 && Date.now() >= due)) await this.#beat(held);
        else if (ended.length > 0) {
          await this.#settle(ended);
          atOnce = Math.min(2 * atOnce, SETTLED_AT_ONCE);
        }
        failures = 0;
      } catch (error) {
        if (!isRefusal(error)) {
          await this.#pause(error, ++failures, this.#over.signal);
          continue;
        }
        this.#warn(error);
        atOnce = 1; // one refused result makes the service refuse all results of the request
        const [job] = ended.length === 1 ? ended : [];
        if (job?.result?.outcome === "failed") this.#forget([job]); // the job runs again after its lease
        else if (job) job.result = { outcome: "failed", error: cut(error.message, ERROR_BYTES) };
      }
    }
  }

  /** Renews the leases, sends reports, and tells handlers what the service answers. */
  async #beat(jobs: Held[]): Promise<void> {
    let room = LINES_AT_ONCE;
    const sent = jobs.map(({ key, progress, lines }) => {
      const log = lines.slice(0, Math.min(LINES_OF_A_JOB, room));
      room -= log.length;
      return { progress, log, item: { ...key, ...progress, log } };
    });
    const body = { jobs: sent.map(({ item }) => item) };
    const answer = await this.#post<Renewed>("heartbeat", body, this.#beatMs).catch((error) => {
      if (!isRefusal(error)) throw error;
      this.#warn(`the reports of ${jobs.length} jobs are dropped: ${error.message}`);
      return { jobs: [], drain: false } as Renewed;
    });
    jobs.forEach((job, index) => {
      const { progress, log } = sent[index] ?? {};
      if (job.progress === progress) job.progress = null;
      job.lines.splice(0, log?.length ?? 0);
    });
    this.#nextBeat = Date.now() + this.#beatMs;
    this.#claimsFrom = answer.drain ? this.#claimsFrom || Date.now() + LONGEST_PAUSE_MS : 0;
    for (const { state, ...key } of answer.jobs) {
      const job = this.#held.get(nameOf(key));
      if (job && state !== "held") job.ending.abort(new JobInterrupted(state));
      if (job && state === "lost") this.#forget([job]);
    }
    this.#notify();
  }

  async #settle(jobs: Held[]): Promise<void> {
    const body = { jobs: jobs.map(({ key, result }) => ({ ...key, ...result })) };
    const answer = await this.#post<{ jobs: (Key & { result: string })[] }>("settle", body, this.#beatMs);
    for (const { jobId, result } of answer.jobs) {
      if (result !== "settled") this.#warn(`the result of job ${jobId} was not taken: ${result}`);
    }
    this.#forget(jobs);
  }

  #forget(jobs: Held[]): void {
    for (const { key } of jobs) this.#held.delete(nameOf(key));
    this.#notify();
  }

  async #post<T>(verb: string, body: object, timeoutMs: number, signal = this.#over.signal): Promise<T> {
    const ending = new AbortController();
    const end = () => ending.abort(signal.reason);
    const timer = setTimeout(() => ending.abort(new Error(`no answer in ${timeoutMs} ms`)), timeoutMs);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
    try {
      const request = {
        method: "POST",
        path: `/api/v1/work/${verb}`,
        body,
        options: { signal: ending.signal },
      };
      return await this.transport.request<T>(request);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
    }
  }

  /** Waits before a request is sent again: longer after each failure, and as long as the service asks for. */
  async #pause(error: unknown, failures: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const retryAfterMs = error instanceof StewardProblem ? (error.retryAfter ?? 0) * 1000 : 0;
    const ms = Math.max(
      retryAfterMs,
      Math.min(LONGEST_PAUSE_MS, 100 * 2 ** failures) * (0.5 + Math.random() / 2),
    );
    this.#warn(`${error}; sent again in ${Math.round(ms)} ms`);
    await pause(ms, signal).catch(() => {}); // the callers check the signal
  }

  #warn(message: unknown): void {
    (this.options.onTrouble ?? console.warn)(`steward: ${message}`);
  }

  /** Waits for a change, at most `ms` milliseconds. */
  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#waiters.push(() => (clearTimeout(timer), resolve()));
    });
  }

  #notify(): void {
    this.#waiters.splice(0).forEach((wake) => wake());
  }

  async #until(isTrue: () => boolean, ms: number): Promise<void> {
    for (const end = Date.now() + ms; !isTrue() && Date.now() < end;) await this.#wait(end - Date.now());
  }
}

const nameOf = ({ jobId, attempt }: Key): string => `${jobId}.${attempt}`;
const hasReport = ({ progress, lines }: Held): boolean => progress !== null || lines.length > 0;
const isRefusal = (error: unknown): error is StewardProblem =>
  error instanceof StewardProblem && error.status < 500 && error.status !== 408 && error.status !== 429;

function failureOf(error: unknown): Result {
  if (error instanceof Postpone) return { outcome: "postponed", retryInSeconds: error.seconds };
  if (error instanceof HopelessJob) return { outcome: "hopeless", error: cut(error.message, ERROR_BYTES) };
  return {
    outcome: "failed",
    error: cut(error instanceof Error && error.stack || String(error), ERROR_BYTES),
  };
}

/** Shortens a line to the limit of a line, because the service refuses a heartbeat with a longer one. */
function fitting({ level, message, fields }: Line): Line {
  const isStorable = JSON.stringify(fields)?.match(/\\u(0000|d[89a-f])/) === null;
  if (isStorable && sizeOf({ level, message, fields }) <= LINE_BYTES) return { level, message, fields };
  return { level, message: sizeOf(message) < LINE_BYTES - 50 ? message : cut(message, ESCAPED_BYTES) };
}

const sizeOf = (json: unknown): number => new TextEncoder().encode(JSON.stringify(json)).length;

const cut = (text: string, bytes: number): string =>
  new TextDecoder().decode(new TextEncoder().encode(text.replaceAll("\0", "")).subarray(0, bytes)).replace(
    /\uFFFD$/,
    "",
  );
