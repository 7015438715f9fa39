// One seed: instances, callers and remote workers in virtual time, with trouble at first and calm at the end.
import { createHash } from "node:crypto";
import type { Pool } from "../../infra/postgres/postgres.ts";
import { isConnectionLost } from "../../infra/postgres/failures.ts";
import { STOPPED } from "./change_rules.ts";
import { type CallWorld, endWaits, type Feature, FEATURES, nextCall } from "./client_calls.ts";
import { checkClaim } from "./claim_rules.ts";
import type { Connections } from "./connections.ts";
import { emptyDatabase } from "./database.ts";
import { checkEnd } from "./end_rules.ts";
import type { Fault } from "./faults.ts";
import { Handlers } from "./handlers.ts";
import { Instance, simulatedPlatform } from "./instance.ts";
import { LIMITS } from "./job_types.ts";
import { type Change, Model, type Violation } from "./model.ts";
import { Random } from "./random.ts";
import { runRemoteWorker } from "./remote_worker.ts";
import { Scheduler, type Trouble } from "./scheduler.ts";
import { type Session, simulatedPool, type Task } from "./statements.ts";
import { type Host, inHost, VirtualTime } from "./virtual_time.ts";

const TROUBLE_STEPS = 350;
const MOST_STEPS = 9_000;
const CALLS = 24;
const INSTANCES = 2;
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

class Simulation {
  readonly #random: Random;
  readonly #model = new Model();
  readonly #trace: string[] = [];
  readonly #violations: Violation[] = [];
  readonly #scheduler: Scheduler;
  readonly #handlers: Handlers;
  readonly #calls: CallWorld;
  readonly #client: Host = { name: "client", isDead: false, frozenUntil: 0 };
  readonly #instances: Instance[] = [];
  readonly #settled = new Map<string, string>();
  #isCalm = false;
  #steps = 0;
  #pendingCalls = 0;
  #lastInstance = 0;

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
      note: (line) => this.#trace.push(`${String(this.time.nowMs).padStart(7)} ${line}`),
    });
    const calls = new Random(seed, 3);
    const features = FEATURES.filter(() => calls.chance(0.35));
    this.#calls = {
      random: calls,
      time,
      model: this.#model,
      features: new Set<Feature>(features),
      platform: simulatedPlatform(this.#instanceOptions("client"), this.#client),
      acknowledged: new Set(),
      openBatches: new Set(),
      recurringIds: new Set(),
      lastNumber: 0,
    };
  }

  async run(): Promise<Result> {
    this.#trace.push(`features: ${[...this.#calls.features].join(", ")}`);
    for (let n = 0; n < INSTANCES; n++) this.#startInstance();
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
    for (const { host } of this.#instances) host.isDead = true;
    this.#client.isDead = true;
    await this.#scheduler.stop();
    STOPPED.clear();
  }

  /** One thing happens: a statement, a timer, a call, a fault of the machine, or time passes. */
  async #step(): Promise<void> {
    const { time } = this;
    const random = this.#random;
    if (!this.#isCalm) {
      if (this.#calls.lastNumber < CALLS && random.chance(0.1)) this.#startCall();
      else if (random.chance(0.004)) await this.#crash();
      else if (random.chance(0.005)) this.#freeze();
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
    for (const { host } of this.#instances) host.frozenUntil = 0;
    this.#scheduler.hurry();
    const until = this.time.nowMs + CALM_MS;
    while (this.#running().length < INSTANCES) this.#startInstance();
    let waits: { isDone: boolean } | null = null;
    while (!waits?.isDone || !this.#isQuiet()) {
      if (this.#violations.length > 0) return;
      if (this.#steps++ > MOST_STEPS || this.time.nowMs > until) {
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
    for (const instance of this.#running()) {
      STOPPED.add(instance.host.name);
      const stopped = this.#track(() => instance.drain(1_000));
      while (!stopped.isDone && this.#violations.length === 0) {
        if (this.#steps++ > MOST_STEPS) return this.#fail("drain", `${instance.host.name} does not stop`);
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
      if (!isConnectionLost(error)) this.#fail("errors", String(error?.stack ?? error).slice(0, 600));
    }).finally(() => {
      this.#pendingCalls--;
      call.isDone = true;
    });
    return call;
  }

  #running(): Instance[] {
    return this.#instances.filter(({ host }) => !host.isDead);
  }

  #startInstance(): void {
    const instance = new Instance(this.#instanceOptions(`i${++this.#lastInstance}`));
    this.#instances.push(instance);
    instance.start().catch((error) => {
      if (isConnectionLost(error)) this.#restart(instance);
      else this.#fail("errors", `an instance did not start: ${error}`);
    });
  }

  /** A container that could not start is started again. */
  #restart(instance: Instance): void {
    instance.host.isDead = true;
    this.#startInstance();
  }

  #instanceOptions(name: string) {
    return {
      name,
      time: this.time,
      handlers: this.#handlers,
      openPool: (host: Host): Pool =>
        simulatedPool(
          host,
          (...given: [Host, Session | null, Task["kind"], { text: string; parameters: unknown[] }]) =>
            this.#scheduler.submit(...given),
        ),
      wakeAt: (at: Date) => this.#wakeAt(at),
      note: (line: string) => this.#trace.push(`${String(this.time.nowMs).padStart(7)} ${line}`),
    };
  }

  /** Wakes each instance, except that some wake-ups are lost. */
  #wakeAt(at: Date): void {
    const inMs = Math.max(0, Math.min(at.getTime() - this.time.clock.now().getTime(), CALM_MS));
    for (const instance of this.#running()) {
      if (!this.#isCalm && this.#random.chance(0.1)) continue;
      const key = inMs > 0 ? Math.ceil((this.time.nowMs + inMs) / 20) : -this.time.nowMs;
      if (this.#wakeUps.get(instance) === key) continue;
      this.#wakeUps.set(instance, key);
      this.time.start(instance.host, () => inMs > 0 ? instance.checkDueTimes() : instance.wake(), inMs);
    }
  }
  readonly #wakeUps = new WeakMap<Instance, number>();

  async #crash(): Promise<void> {
    const instance = this.#random.pick(this.#running());
    this.#trace.push(`${this.time.nowMs} ${instance.host.name} crashes`);
    this.#handlers.crashed(instance.host);
    await this.#scheduler.kill(instance.host);
    this.#startInstance();
  }

  #freeze(): void {
    const { host } = this.#random.pick(this.#running());
    const ms = this.#random.chance(0.5)
      ? this.#random.between(50_000, 130_000)
      : this.#random.between(100, 20_000);
    this.#trace.push(`${this.time.nowMs} ${host.name} freezes for ${ms} ms`);
    this.#handlers.frozen(host);
    host.frozenUntil = this.time.nowMs + ms;
  }

  #startRemoteWorker(): void {
    const random = new Random(this.o.seed, 4);
    const host: Host = { name: "remote", isDead: false, frozenUntil: 0 };
    const world = {
      random,
      pickInstance: () => random.pick(this.#running().filter(({ isStopping }) => !isStopping)) ?? null,
      isCalm: () => this.#isCalm,
      note: (line: string) => this.#trace.push(line),
      settled: (jobId: string, attempt: number, outcome: string) =>
        this.#settled.set(`${jobId} ${attempt}`, outcome),
    };
    inHost(host, () => runRemoteWorker(world, host)).catch((error) =>
      this.#fail("errors", `remote worker: ${error}`)
    );
  }

  async #readChanges(): Promise<void> {
    const changes = await this.connections.monitor<Change[]>`
      with taken as (delete from simulation.changes returning n, name, before, after) select * from taken order by n`;
    if (changes.length > 0) this.#violations.push(...this.#model.commit([...changes], this.time.clock.now()));
  }
}
