// Runs the statements of all instances one after another, in an order that the seed decides.
import { setImmediate } from "node:timers";
import { PostgresError } from "../../infra/postgres/failures.ts";
import type { Connection, Connections } from "./database.ts";
import type { Random } from "./random.ts";
import { mayWrite, type Session, shortText, type Statement, type Task } from "./statements.ts";
import type { Host, VirtualTime } from "./virtual_time.ts";

const LOCK_TIMEOUT = /set local lock_timeout = (\d+)/;

/** What happens around the statement of a task. */
export type Trouble = "none" | "lost before" | "lost after" | "late answer";

export interface SchedulerOptions {
  time: VirtualTime;
  random: Random;
  connections: Connections;
  /** Plants a fault. */
  change: (text: string) => string;
  /** Called after each statement that was executed; and after each commit that may have written. */
  onExecuted: (task: Task, rows: unknown) => Promise<void>;
  onCommitted: (task: Task) => Promise<void>;
  /** One line for each step. */
  note: (line: string) => void;
}

export class Scheduler {
  #tasks: Task[] = [];
  #lastTask = 0;

  constructor(private readonly o: SchedulerOptions) {}

  /** Called by the pools of instances. */
  submit(host: Host, session: Session | null, kind: Task["kind"], statement: Statement): Promise<unknown> {
    if (host.isDead || session?.isLost) return new Promise(() => {});
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#tasks.push({
      ...statement,
      n: ++this.#lastTask,
      kind,
      host,
      session,
      state: "waits",
      notBefore: 0,
      connection: null,
      blockedSince: 0,
      ended: Promise.resolve(),
      outcome: null,
      resolve,
      reject,
    });
    return promise;
  }

  /** Lets the code of the instances run until it waits for statements or timers. */
  async settle(): Promise<void> {
    for (let n = 0; n < 2; n++) await new Promise<void>((resolve) => setImmediate(resolve));
  }

  /** The tasks that can go on now. */
  ready(): Task[] {
    const { nowMs } = this.o.time;
    const hasFree = this.o.connections.free() !== undefined;
    const first = new Set<Session>();
    return this.#tasks.filter((task) => {
      const { host, session, state } = task;
      if (session) {
        if (first.has(session)) return false;
        first.add(session);
      }
      if (host.isDead || host.frozenUntil > nowMs || task.notBefore > nowMs) return false;
      if (state === "ended") return true;
      if (state === "blocked") return this.#timesOutAt(task) <= nowMs;
      return session?.connection ? true : hasFree;
    });
  }

  /** Virtual time at which a task that cannot go on now can; null: none will. */
  nextAt(): number | null {
    const times = this.#tasks.filter(({ host }) => !host.isDead).map((task) =>
      Math.max(task.notBefore, task.host.frozenUntil, task.state === "blocked" ? this.#timesOutAt(task) : 0)
    ).filter((at) => at > this.o.time.nowMs && at < Infinity);
    return times.length === 0 ? null : Math.min(...times);
  }

  /** Nothing waits longer than it must. */
  hurry(): void {
    for (const task of this.#tasks) {
      task.notBefore = 0;
      task.host.frozenUntil = 0;
    }
  }

  #timesOutAt({ session, blockedSince }: Task): number {
    return session?.lockTimeoutMs ? blockedSince + session.lockTimeoutMs : Infinity;
  }

  async run(task: Task, trouble: Trouble): Promise<void> {
    if (task.state === "ended") return this.#deliver(task);
    if (task.state === "blocked") return await this.#timeOut(task);
    const shown = trouble === "none" ? "" : ` (${trouble})`;
    this.o.note(`${task.host.name}: ${shortText(task.text)}${shown}`);
    if (trouble === "lost before") return await this.#lose(task);
    if (!await this.#execute(task)) return;
    await this.#finish(task, trouble);
    await this.#recheckBlocked();
  }

  /** Ends a host as a crash does. Statements that run or wait for locks end on their own, and are then rolled back. */
  async kill(host: Host): Promise<void> {
    host.isDead = true;
    const sessions = new Set<Session>();
    for (const task of this.#tasks.filter((task) => task.host === host)) {
      if (task.state === "blocked") continue;
      this.#remove(task);
    }
    for (const session of this.#open) if (session.host === host) sessions.add(session);
    for (const session of sessions) {
      session.isLost = true;
      if (!this.#tasks.some((task) => task.session === session)) await this.#rollBack(session);
    }
    await this.#recheckBlocked();
  }

  /** Ends everything, at the end of a seed. */
  async stop(): Promise<void> {
    for (const host of new Set([...this.#tasks, ...this.#open].map(({ host }) => host))) {
      await this.kill(host);
    }
    for (const task of this.#tasks) {
      if (task.connection) await this.o.connections.cancel(task.connection);
    }
    await this.#recheckBlocked();
  }

  readonly #open = new Set<Session>();

  /** @returns false if it waits for a lock */
  async #execute(task: Task): Promise<boolean> {
    const { connections, time } = this.o;
    const { session, kind } = task;
    const connection = session?.connection ?? connections.free();
    if (!connection) throw new Error("no connection is free");
    connection.isFree = false;
    task.connection = connection;
    const text = this.o.change(task.text);
    if (session && this.#isSimulated(task, session, connection)) {
      task.outcome = { rows: [] };
      task.state = "ended";
      return true;
    }
    if (session && mayWrite(text)) session.writes = true;
    if (kind === "statement") connections.tellTime(connection, time.text);
    const isPlain = task.parameters.length === 0;
    const sent = isPlain
      ? connection.sql.unsafe(text)
      : connection.sql.unsafe(text, task.parameters as never[], { prepare: true });
    task.ended = sent.then((rows) => task.outcome = { rows }, (error) => task.outcome = { error });
    const hasEnded = await connections.endsOrWaits(connection, task.ended);
    task.state = hasEnded ? "ended" : "blocked";
    task.blockedSince = time.nowMs;
    if (!hasEnded) this.o.note(`${task.host.name}: … waits for a lock`);
    return hasEnded;
  }

  /** The time-out of locks is virtual, and a transaction begins with its first statement. */
  #isSimulated({ kind, text }: Task, session: Session, connection: Connection): boolean {
    if (kind === "begin") {
      session.connection = connection;
      this.#open.add(session);
      const { time } = this.o;
      this.o.connections.tellTime(connection, time.text);
      connection.sql.unsafe(`begin; set local simulation.tx_now = '${time.text}'`).execute();
      return true;
    }
    const lockTimeout = LOCK_TIMEOUT.exec(text)?.[1];
    if (lockTimeout) session.lockTimeoutMs = Number(lockTimeout);
    return lockTimeout !== undefined;
  }

  /** Frees what an executed statement held, tells the rules, and delivers the result. */
  async #finish(task: Task, trouble: Trouble): Promise<void> {
    const { session, kind, connection, outcome } = task;
    if (!connection || !outcome) throw new Error("the task has not ended");
    if ("rows" in outcome) await this.o.onExecuted(task, outcome.rows);
    const isEnd = kind === "commit" || kind === "rollback";
    const mayHaveCommitted = session ? kind === "commit" && session.writes : mayWrite(task.text);
    if (!session || isEnd) this.#release(connection, session);
    if ("rows" in outcome && mayHaveCommitted) await this.o.onCommitted(task);
    if (task.host.isDead || session?.isLost) {
      this.#remove(task);
      if (session && !isEnd) await this.#rollBack(session);
      return;
    }
    if (trouble === "lost after") return await this.#lose(task);
    if (trouble === "late answer") task.notBefore = this.o.time.nowMs + this.o.random.between(1, 3_000);
    else this.#deliver(task);
  }

  #deliver(task: Task): void {
    this.#remove(task);
    if (!task.outcome) throw new Error("the task has not ended");
    if ("error" in task.outcome) {
      this.o.note(`${task.host.name}: … failed: ${(task.outcome.error as Error).message}`);
      task.reject(task.outcome.error);
    } else task.resolve(task.outcome.rows);
  }

  /** Fails a task as a lost connection does; a transaction is rolled back unless it has committed. */
  async #lose(task: Task): Promise<void> {
    const { session } = task;
    this.#remove(task);
    const error = Object.assign(new Error("write CONNECTION_CLOSED"), {
      code: "CONNECTION_CLOSED",
      query: task.text,
    });
    if (!session) return task.reject(error);
    for (const other of this.#tasks.filter((other) => other.session === session)) this.#remove(other);
    if (session.connection) await this.#rollBack(session);
    session.lose(error);
    await this.#recheckBlocked();
  }

  async #rollBack(session: Session): Promise<void> {
    const { connection } = session;
    if (!connection) return;
    await connection.sql.unsafe("rollback");
    this.#release(connection, session);
  }

  #release(connection: Connection, session: Session | null): void {
    connection.isFree = true;
    if (!session) return;
    connection.time = null; // a rollback may have set it back
    session.connection = null;
    this.#open.delete(session);
  }

  /** Fails a statement that waits for a lock for too long. */
  async #timeOut(task: Task): Promise<void> {
    if (!task.connection) throw new Error("a blocked task has a connection");
    this.o.note(`${task.host.name}: … waited too long for a lock`);
    await this.o.connections.cancel(task.connection);
    await task.ended;
    if (task.outcome && "error" in task.outcome) {
      task.outcome = { error: lockTimeoutError() };
    }
    task.state = "ended";
    await this.#finish(task, "none");
    await this.#recheckBlocked();
  }

  /** Finds the tasks whose lock has become free. */
  async #recheckBlocked(): Promise<void> {
    for (let isChanged = true; isChanged;) {
      isChanged = false;
      for (const task of this.#tasks.filter(({ state }) => state === "blocked")) {
        await this.settle(); // what was delivered before goes on first, however fast the lock becomes free
        if (!task.connection || !await this.o.connections.endsOrWaits(task.connection, task.ended)) continue;
        task.state = "ended";
        isChanged = true;
        await this.#finish(task, "none");
      }
    }
  }

  #remove(task: Task): void {
    task.state = task.state === "blocked" ? task.state : "delivered";
    this.#tasks = this.#tasks.filter((other) => other !== task);
  }
}

const lockTimeoutError = () =>
  new PostgresError({
    code: "55P03",
    severity: "ERROR",
    message: "canceling statement due to lock timeout",
  } as unknown as string);
