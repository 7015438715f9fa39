// One seed: instances, callers and remote workers in virtual time, with trouble at first and calm at the end.
import { createHash } from "node:crypto";
import { isConnectionLost } from "../../infra/postgres/failures.ts";
import { STOPPED } from "./change_rules.ts";
import { type CallWorld, endWaits, type Feature, FEATURES, nextCall } from "./client_calls.ts";
import { checkClaim, checkEnd } from "./row_rules.ts";
import { type Connections, emptyDatabase } from "./database.ts";
import { Fleet } from "./fleet.ts";
import type { Fault } from "./faults.ts";
import { simulatedPlatform } from "./instance.ts";
import { Handlers, LIMITS } from "./handlers.ts";
import { type Change, Model, type Violation } from "./model.ts";
import { Random } from "./random.ts";
import { runRemoteWorker } from "./remote_worker.ts";
import { Scheduler, type Trouble } from "./scheduler.ts";
import type { Task } from "./statements.ts";
import { type Host, inHost, VirtualTime } from "./virtual_time.ts";

const TROUBLE_STEPS = 350;
const MAX_STEPS = 5_000;
const CALLS = 24;
/** A statement that writes results of attempts. */
const SETTLES = /with ended as materialized/;
const CALM_MS = 2 * 3_600_000;

export interface Result {
  seed: number;
  violations: Violation[];
  /** Steps until the violation or the end. */
  steps: number;
  /** Steps with trouble until then. */
  troubleSteps: number;
  history: string[];
  trace: string[];
  /** Of the history. The same seed gives the same hash. */
  hash: string;
}

export interface RunOptions {
  seed: number;
  fault?: Fault | null;
  /** Steps with trouble; then it is calm. Default: as many as a seed has. */
  troubleSteps?: number;
}

/** Runs one seed on an empty database. */
export async function runSeed(connections: Connections, o: RunOptions): Promise<Result> {
  await emptyDatabase(connections.monitor);
  const time = new VirtualTime();
  const restore = time.install(o.seed);
  const simulation = new Simulation(connections, time, o);
  try {
    return await simulation.run();
  } finally {
    await simulation.stop();
    restore();
  }
}

const featuresOf = (random: Random): Feature[] => FEATURES.filter(() => random.chance(0.35));

/** True if the jobs of the seed are about all of these. */
export function hasFeatures(seed: number, wanted: readonly Feature[]): boolean {
  const features = featuresOf(new Random(seed, 3));
  return wanted.every((feature) => features.includes(feature));
}

class Simulation {
  readonly #random: Random;
  readonly #model = new Model();
  readonly #trace: string[] = [];
  readonly #violations: Violation[] = [];
  readonly #scheduler: Scheduler;
  readonly #handlers: Handlers;
  readonly #calls: CallWorld;
  readonly #client: Host = { name: "client", isDead: false, frozenUntil: 0 };
  readonly #fleet: Fleet;
  readonly #settled = new Map<string, string>();
  #isCalm = false;
  #steps = 0;
  #pendingCalls = 0;

  constructor(
    private readonly connections: Connections,
    private readonly time: VirtualTime,
    private readonly o: RunOptions,
  ) {
    const { seed, fault } = o;
    this.#random = new Random(seed, 1);
    this.#model.limits = { ...LIMITS, "~remote.limited": 2 };
    this.#handlers = new Handlers(
      new Random(seed, 2),
      time,
      () => this.#isCalm,
      (v) => this.#violations.push(v),
    );
    this.#scheduler = new Scheduler({
      time,
      random: this.#random,
      connections,
      change: (text) => fault?.change(text) ?? text,
      onExecuted: async (task, rows) => {
        const found = await checkClaim(connections.monitor, task, rows, (id) => this.#model.alias(id));
        this.#violations.push(...found);
      },
      onCommitted: () => this.#readChanges(),
      note: (line) => this.#note(line),
    });
    this.#fleet = new Fleet({
      random: this.#random,
      time,
      handlers: this.#handlers,
      scheduler: this.#scheduler,
      isCalm: () => this.#isCalm,
      note: (line) => this.#note(line),
      fail: (what) => this.#fail("errors", what),
    });
    const calls = new Random(seed, 3);
    const features = featuresOf(calls);
    this.#calls = {
      random: calls,
      time,
      model: this.#model,
      features: new Set<Feature>(features),
      platform: inHost(this.#client, () => simulatedPlatform(this.#fleet.optionsOf("client"), this.#client)),
      acknowledged: new Set(),
      openBatches: new Set(),
      recurringIds: new Set(),
      lastNumber: 0,
    };
  }

  async run(): Promise<Result> {
    this.#trace.push(`features: ${[...this.#calls.features].join(", ")}`);
    this.#fleet.fill();
    if (this.#calls.features.has("remote")) this.#startRemoteWorker();
    const troubleSteps = this.o.troubleSteps ?? TROUBLE_STEPS;
    await this.#scheduler.settle();
    for (; this.#steps < troubleSteps && this.#violations.length === 0; this.#steps++) await this.#step();
    const troubled = this.#steps;
    if (this.#violations.length === 0) await this.#calmDown();
    const history = this.#model.history;
    const hash = createHash("sha256").update(history.join("\n")).digest("hex").slice(0, 16);
    const { seed } = this.o;
    const { violations, steps, trace } = {
      violations: this.#violations,
      steps: this.#steps,
      trace: this.#trace,
    };
    return { seed, violations, steps, troubleSteps: troubled, history, trace, hash };
  }

  async stop(): Promise<void> {
    this.#fleet.end();
    this.#client.isDead = true;
    await this.#scheduler.stop();
    STOPPED.clear();
  }

  /** One thing happens: a statement, a timer, a call, a fault of the machine, or time passes. */
  async #step(): Promise<void> {
    const { time } = this;
    const random = this.#random;
    await this.#fleet.replaceFailed();
    if (!this.#isCalm) {
      if (this.#calls.lastNumber < CALLS && random.chance(0.1)) this.#startCall();
      else if (random.chance(0.004)) await this.#fleet.crashOne();
      else if (random.chance(0.005)) this.#fleet.freezeOne();
      else if (random.chance(0.03)) time.advanceTo(time.nowMs + random.between(1, 400));
    }
    const tasks = this.#scheduler.ready();
    const timers = time.due();
    const chosen = random.between(0, tasks.length + timers.length - 1);
    const [task, timer] = [tasks[chosen], timers[chosen - tasks.length]];
    if (task) await this.#runTask(task);
    else if (timer) time.fire(timer);
    else this.#passTime();
    await this.#scheduler.settle();
  }

  async #runTask(task: Task): Promise<void> {
    const random = this.#random;
    if (!this.#isCalm && SETTLES.test(task.text) && random.chance(0.06)) {
      const ms = random.between(61_000, 110_000); // longer than a lease: the result comes too late
      if (random.chance(0.5)) return this.#fleet.freeze(task.host, ms);
      task.notBefore = this.time.nowMs + ms;
      return;
    }
    if (!this.#isCalm && task.state === "waits" && random.chance(0.02)) {
      task.notBefore = this.time.nowMs +
        (random.chance(0.3) ? random.between(1_000, 80_000) : random.between(1, 500));
      return;
    }
    let trouble: Trouble = "none";
    if (!this.#isCalm && task.host !== this.#client && random.chance(0.015)) {
      trouble = random.pick<Trouble>(["lost before", "lost after", "late answer"]);
    }
    await this.#scheduler.run(task, trouble);
  }

  /** Nothing can happen now: the time of the next event comes. */
  #passTime(): void {
    const times = [this.time.nextAt(), this.#scheduler.nextAt()].filter((at) => at !== null);
    if (times.length > 0) this.time.advanceTo(Math.max(this.time.nowMs + 1, Math.min(...times)));
  }

  async #calmDown(): Promise<void> {
    this.#trace.push("--- calm ---");
    this.#isCalm = true;
    this.#fleet.thaw();
    this.#scheduler.hurry();
    const until = this.time.nowMs + CALM_MS;
    this.#fleet.fill();
    let waits: { isDone: boolean } | null = null;
    while (!waits?.isDone || !this.#isQuiet()) {
      if (this.#violations.length > 0) return;
      if (this.#steps++ > MAX_STEPS || this.time.nowMs > until) {
        return this.#fail("quiet", this.#unfinished());
      }
      if (this.#pendingCalls === 0) waits ??= this.#track(() => endWaits(this.#calls));
      await this.#step();
    }
    await this.#drain();
    if (this.#violations.length > 0) return;
    const { acknowledged } = this.#calls;
    await this.connections.monitor.unsafe(`set simulation.now = '${this.time.text}'`);
    this.#violations.push(
      ...await checkEnd(this.connections.monitor, this.#model, { acknowledged, settled: this.#settled }),
    );
  }

  /** Stops the instances as a deployment does; they give back everything. */
  async #drain(): Promise<void> {
    for (const instance of this.#fleet.running) {
      STOPPED.add(instance.host.name);
      const stopped = this.#track(() => instance.drain(1_000));
      while (!stopped.isDone && this.#violations.length === 0) {
        if (this.#steps++ > MAX_STEPS) return this.#fail("drain", `${instance.host.name} does not stop`);
        await this.#step();
      }
      await this.#scheduler.kill(instance.host);
    }
  }

  #isQuiet(): boolean {
    const { jobs, batches } = this.#model;
    return this.#pendingCalls === 0 &&
      [...jobs.values()].every(({ completed_at }) => completed_at !== null) &&
      [...batches.values()].every(({ ended_at }) => ended_at !== null);
  }

  #unfinished(): string {
    const jobs = [...this.#model.jobs.values()].filter(({ completed_at }) => completed_at === null);
    const batches = [...this.#model.batches.values()].filter(({ ended_at }) => ended_at === null);
    const shown = [...jobs, ...batches].map(({ id, status, lane }) =>
      `${this.#model.alias(id)} ${status} ${lane ?? ""}`
    );
    return `not ended after ${this.#steps} steps: ${shown.join(", ")}; ${this.#pendingCalls} calls`;
  }

  #fail(rule: string, what: string): void {
    this.#violations.push({ rule, what });
  }

  #startCall(): void {
    this.#track(() => nextCall(this.#calls));
  }

  /** Runs a call of a client. Errors of lost connections are fine, others are violations. */
  #track(work: () => Promise<void>): { isDone: boolean } {
    const call = { isDone: false };
    this.#pendingCalls++;
    inHost(this.#client, work).catch((error) => {
      if (!isConnectionLost(error)) this.#fail("errors", String(error));
    }).finally(() => {
      this.#pendingCalls--;
      call.isDone = true;
    });
    return call;
  }

  #startRemoteWorker(): void {
    const random = new Random(this.o.seed, 4);
    const host: Host = { name: "remote", isDead: false, frozenUntil: 0 };
    const world = {
      random,
      pickInstance: () => random.pick(this.#fleet.running.filter(({ isStopping }) => !isStopping)) ?? null,
      isCalm: () => this.#isCalm,
      note: (line: string) => this.#note(line),
      settled: (jobId: string, attempt: number, outcome: string) =>
        this.#settled.set(`${jobId} ${attempt}`, outcome),
    };
    inHost(host, () => runRemoteWorker(world, host)).catch((error) =>
      this.#fail("errors", `remote worker: ${error}`)
    );
  }

  #note(line: string): void {
    this.#trace.push(`${String(this.time.nowMs).padStart(7)} ${line}`);
  }

  async #readChanges(): Promise<void> {
    const changes = await this.connections.monitor<Change[]>`
      with taken as (delete from simulation.changes returning n, at, name, before, after) select * from taken order by n`;
    if (changes.length > 0) this.#violations.push(...this.#model.commit([...changes]));
  }
}
