// The instances of a seed: they start, crash, freeze, and wake each other.
import { isConnectionLost } from "../../infra/postgres/failures.ts";
import { Instance, type InstanceOptions } from "./instance.ts";
import type { Handlers } from "./handlers.ts";
import type { Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";
import { simulatedPool } from "./statements.ts";
import type { Host, VirtualTime } from "./virtual_time.ts";

const INSTANCES = 2;
const LONGEST_WAIT_MS = 2 * 3_600_000;

export interface FleetOptions {
  random: Random;
  time: VirtualTime;
  handlers: Handlers;
  scheduler: Scheduler;
  isCalm: () => boolean;
  note: (line: string) => void;
  fail: (what: string) => void;
}

export class Fleet {
  readonly #instances: Instance[] = [];
  /** Those whose start failed and that are not replaced yet. */
  readonly #failed: Instance[] = [];
  /** The last wake-up of each instance: several for the same time are one. */
  readonly #wakeUps = new WeakMap<Instance, number>();

  constructor(private readonly o: FleetOptions) {}

  get running(): Instance[] {
    return this.#instances.filter(({ host }) => !host.isDead);
  }

  /** Starts as many as are missing. */
  fill(): void {
    while (this.running.length < INSTANCES) this.#start();
  }

  #start(): void {
    const instance = new Instance(this.optionsOf(`i${this.#instances.length + 1}`));
    this.#instances.push(instance);
    instance.start().catch((error) => {
      if (!isConnectionLost(error)) return this.o.fail(`an instance did not start: ${error}`);
      instance.host.isDead = true;
      this.#failed.push(instance);
    });
  }

  /** Ends instances whose start failed, with their open transactions, and starts others, as containers are started again. */
  async replaceFailed(): Promise<void> {
    for (const { host } of this.#failed.splice(0)) {
      await this.o.scheduler.kill(host);
      this.#start();
    }
  }

  optionsOf(name: string): InstanceOptions {
    const { time, handlers, scheduler, note } = this.o;
    const openPool = (host: Host) => simulatedPool(host, (...given) => scheduler.submit(...given));
    return { name, time, handlers, openPool, wakeAt: (at) => this.#wakeAt(at), note };
  }

  /** Wakes each instance, except that some wake-ups are lost. */
  #wakeAt(at: Date): void {
    const { time, random, isCalm } = this.o;
    const inMs = Math.max(0, Math.min(at.getTime() - time.clock.now().getTime(), LONGEST_WAIT_MS));
    for (const instance of this.running) {
      if (!isCalm() && random.chance(0.1)) continue;
      const key = inMs > 0 ? Math.ceil((time.nowMs + inMs) / 20) : -time.nowMs;
      if (this.#wakeUps.get(instance) === key) continue;
      this.#wakeUps.set(instance, key);
      time.start(instance.host, () => inMs > 0 ? instance.checkDueTimes() : instance.wake(), inMs);
    }
  }

  async crashOne(): Promise<void> {
    const { random, note, handlers, scheduler } = this.o;
    const instance = random.pick(this.running);
    note(`${instance.host.name} crashes`);
    handlers.crashed(instance.host);
    await scheduler.kill(instance.host);
    this.#start();
  }

  freezeOne(): void {
    const { random } = this.o;
    const { host } = random.pick(this.running);
    this.freeze(host, random.chance(0.5) ? random.between(50_000, 130_000) : random.between(100, 20_000));
  }

  freeze(host: Host, ms: number): void {
    const { note, handlers, time } = this.o;
    note(`${host.name} freezes for ${ms} ms`);
    handlers.frozen(host);
    host.frozenUntil = time.nowMs + ms;
  }

  thaw(): void {
    for (const { host } of this.#instances) host.frozenUntil = 0;
  }

  end(): void {
    for (const { host } of this.#instances) host.isDead = true;
  }
}
