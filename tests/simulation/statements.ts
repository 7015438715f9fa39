// Pools of simulated instances. Every statement waits until the scheduler runs it, and the scheduler delivers its result.
import postgres from "postgres";
import type { Pool, Tx } from "../../infra/postgres/postgres.ts";
import type { Connection } from "./database.ts";
import type { Host } from "./virtual_time.ts";

/** An open transaction. */
export interface Session {
  host: Host;
  connection: Connection | null;
  /** Nothing of it is sent or delivered any more. */
  isLost: boolean;
  /** Rejects `begin`, as the driver does when the connection was lost. */
  lose(error: Error): void;
  /** True if a statement of it may have written. */
  writes: boolean;
  /** The lock_timeout of the transaction, in virtual time; null: none. */
  lockTimeoutMs: number | null;
  savepoints: number;
}

export type Outcome = { rows: unknown } | { error: unknown };

/** A statement that an instance has sent. */
export interface Task extends Statement {
  n: number;
  kind: "statement" | "begin" | "commit" | "rollback";
  host: Host;
  /** Null: a statement with its own commit. */
  session: Session | null;
  state: "waits" | "blocked" | "ended" | "delivered";
  /** Virtual time before which the scheduler leaves it. */
  notBefore: number;
  connection: Connection | null;
  blockedSince: number;
  ended: Promise<unknown>;
  outcome: Outcome | null;
  resolve(rows: unknown): void;
  reject(error: unknown): void;
}

type Submit = (host: Host, session: Session | null, kind: Task["kind"], s: Statement) => Promise<unknown>;
type OnFailure = (error: unknown) => void;

/** Makes queries and never connects. */
const builder = postgres("postgres://nowhere", { max: 1, transform: { undefined: null } });

/** A pool of a simulated instance. */
export function simulatedPool(host: Host, submit: Submit): Pool {
  const pool = tagOf((statement) => submit(host, null, "statement", statement));
  const begin = (first: unknown, second?: unknown) =>
    runTransaction(host, submit, (second ?? first) as (tx: Tx) => unknown);
  return Object.assign(pool, { begin, options: {}, end: () => Promise.resolve() }) as unknown as Pool;
}

async function runTransaction(host: Host, submit: Submit, work: (tx: Tx) => unknown): Promise<unknown> {
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {});
  const session: Session = {
    host,
    connection: null,
    isLost: false,
    lose(error) {
      session.isLost = true;
      lost.reject(error);
    },
    writes: false,
    lockTimeoutMs: null,
    savepoints: 0,
  };
  const send = (kind: Task["kind"], text: string) => submit(host, session, kind, { text, parameters: [] });
  const whole = async () => {
    await send("begin", "begin");
    let result: unknown;
    try {
      result = await runScope(session, submit, work);
    } catch (error) {
      await send("rollback", "rollback");
      throw error;
    }
    await send("commit", "commit");
    return result;
  };
  return await Promise.race([whole(), lost.promise]);
}

/** Runs the work of a transaction or savepoint. Like the driver, it fails if one of its statements failed. */
async function runScope(session: Session, submit: Submit, work: (tx: Tx) => unknown): Promise<unknown> {
  const failures: unknown[] = [];
  const pending = new Set<Promise<unknown>>();
  const note: OnFailure = (error) => failures.push(error);
  const send = (statement: Statement) => {
    const sent = submit(session.host, session, "statement", statement);
    pending.add(sent);
    sent.catch(note).finally(() => pending.delete(sent));
    return sent;
  };
  const tx = Object.assign(tagOf(send), {
    savepoint: (first: unknown, second?: unknown) =>
      runSavepoint(session, submit, (second ?? first) as (tx: Tx) => unknown),
  }) as unknown as Tx;
  const given = await work(tx);
  const result = Array.isArray(given) ? await Promise.all(given) : given;
  while (pending.size > 0) await Promise.allSettled(pending);
  if (failures.length > 0) throw failures[0];
  return result;
}

async function runSavepoint(session: Session, submit: Submit, work: (tx: Tx) => unknown): Promise<unknown> {
  const name = `s${++session.savepoints}`;
  const send = (text: string) => submit(session.host, session, "statement", { text, parameters: [] });
  await send(`savepoint ${name}`);
  try {
    return await runScope(session, submit, work);
  } catch (error) {
    await send(`rollback to ${name}`);
    throw error;
  }
}

/** The tagged-template function of the driver, whose queries are sent with `send` when they are awaited. */
function tagOf(send: (statement: Statement) => Promise<unknown>) {
  const handler = (query: DriverQuery) =>
    void send(compile(query)).then((rows) => query.resolve(rows), (error) => query.reject(error));
  const lazy = (query: object) => Object.assign(query, { handler });
  const tag = (strings: TemplateStringsArray | string, ...args: never[]) => {
    const query = (builder as unknown as (...all: unknown[]) => object)(strings, ...args);
    return typeof strings === "object" && "raw" in strings ? lazy(query) : query;
  };
  const unsafe = (text: string, args: never[] = []) => lazy(builder.unsafe(text, args));
  return Object.assign(tag, { unsafe, typed: builder.typed, types: builder.types, json: builder.json });
}

// Queries of the driver become text and parameters, so that the simulator can read and change the text.

/** A statement as it is sent. */
export interface Statement {
  text: string;
  parameters: unknown[];
}

/** A query of the driver, which calls its handler once, when it is first awaited. */
type DriverQuery = QueryParts & Pick<Task, "resolve" | "reject">;

/** The parts that the driver keeps of a query that was not sent. */
interface QueryParts {
  strings: readonly string[];
  args: unknown[];
  tagged: boolean;
}

/** The text of a query with its fragments, in the form `$1`. */
function compile({ strings, args, tagged }: QueryParts): Statement {
  const parameters: unknown[] = [];
  if (!tagged) return { text: strings.join(""), parameters: args };
  return { text: textOf({ strings, args, tagged }, parameters), parameters };
}

function textOf({ strings, args }: QueryParts, parameters: unknown[]): string {
  let text = strings[0] ?? "";
  for (let n = 1; n < strings.length; n++) text += valueText(args[n - 1], parameters) + strings[n];
  return text;
}

function valueText(value: unknown, parameters: unknown[]): string {
  if (isQuery(value)) return textOf(value, parameters);
  if (Array.isArray(value) && isQuery(value[0])) {
    return value.map((part) => textOf(part, parameters)).join(" ");
  }
  const kind = (value as object | null)?.constructor?.name;
  if (kind === "Identifier") return (value as { value: string }).value;
  if (kind === "Builder") throw new Error("the simulator cannot read a builder of the driver");
  return `$${parameters.push(value)}`;
}

const isQuery = (value: unknown): value is QueryParts =>
  typeof value === "object" && value !== null && "strings" in value && "args" in value;

/** True if the statement may write. */
export const mayWrite = (text: string): boolean =>
  /\b(insert|update|delete)\b/i.test(text.replaceAll(/for (no key )?update/g, ""));

/** The text on one line, without what differs between runs. */
export const shortText = (text: string): string => text.replaceAll(/\s+/g, " ").trim().slice(0, 110);
