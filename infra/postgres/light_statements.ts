// A workaround for postgres.js 3.4.9, whose statements and parts of statements are costly. Each is a promise with two functions
// assigned to it. V8 allocates a function that is assigned to a member in the old generation (`set_pretenure` in its parser), so
// each statement, its rows and the request that awaits it live until a full garbage collection. Remove this once the driver's
// `Query` assigns no functions. `light_statements_test.ts` fails if it has other members than those here.
//
// They also replace the driver's retry of a prepared statement whose plan has become invalid, as after a migration. The
// driver resends it on a connection where it sends others behind it, and a statement then gets the answer of another one. In
// a transaction it would run after the rollback. Remove this once the driver resends such a statement alone.
import type { Sql } from "./sql_types.ts";

/** The members of the driver's statements that are read here. */
interface DriverQuery {
  handler: unknown;
  canceller: unknown;
  /** Sends it, once. */
  handle(): void;
}

/** The place in the source that made each statement first, for the stack of its errors. */
const origins = new WeakMap<TemplateStringsArray, Error>();

/**
 * A statement, or a part of one, with the members that the driver gives it. It becomes a promise only when it is awaited. Its
 * prototype inherits from the driver's class, which has the other methods and recognizes its instances.
 */
class Statement implements DriverQuery {
  readonly tagged = true;
  readonly options = {};
  state = null;
  statement = null;
  active = false;
  cancelled: object | null = null;
  executed = false;
  signature = "";
  outcome: PromiseWithResolvers<unknown> | null = null;
  /** The driver's methods `cursor`, `forEach`, `raw` and `values` set these. */
  declare cursorFn?: unknown;
  declare forEachFn?: unknown;
  declare isRaw?: unknown;
  declare handle: () => void;

  /** @param isSentAgain true if it is sent a second time when its plan has become invalid */
  constructor(
    readonly strings: TemplateStringsArray,
    readonly args: unknown[],
    readonly handler: unknown,
    readonly canceller: unknown,
    readonly isSentAgain: boolean,
  ) {
    if (!origins.has(strings)) origins.set(strings, new Error());
  }

  /** The driver sets this to the error of an invalid plan, and then sends the statement again unless it is cancelled. */
  set retried(error: unknown) {
    this.cancelled = {};
    if (!this.isSentAgain || this.cursorFn || this.forEachFn || this.isRaw) {
      this.reject(error);
      return;
    }
    const again = new Statement(this.strings, this.args, this.handler, this.canceller, false);
    again.then((rows) => this.resolve(rows), (error) => this.reject(error));
  }

  get origin(): string {
    return origins.get(this.strings)?.stack ?? "";
  }

  get settled(): PromiseWithResolvers<unknown> {
    return this.outcome ??= Promise.withResolvers();
  }

  resolve(rows: unknown): void {
    this.active = false;
    this.settled.resolve(rows);
  }

  reject(error: unknown): void {
    this.active = false;
    this.settled.reject(error);
  }

  then(onRows?: (rows: unknown) => unknown, onError?: (error: unknown) => unknown): Promise<unknown> {
    this.handle();
    return this.settled.promise.then(onRows, onError);
  }

  catch(onError?: (error: unknown) => unknown): Promise<unknown> {
    return this.then(undefined, onError);
  }

  finally(onEnd?: () => void): Promise<unknown> {
    this.handle();
    return this.settled.promise.finally(onEnd);
  }
}

/**
 * Makes the statements of `sql` instead of the driver: of a template, as light ones; of all else, such as names, as usual.
 * @param o.isSentAgain true if a statement whose plan has become invalid is sent again; in a transaction it fails
 */
export function lightStatements(
  sql: Sql,
  o: { isSentAgain: boolean },
): (...given: Parameters<Sql>) => unknown {
  const own = sql`` as unknown as DriverQuery;
  Object.setPrototypeOf(Statement.prototype, Object.getPrototypeOf(own));
  const { handler, canceller } = own;
  return (first, ...args) =>
    isTemplate(first) ? new Statement(first, args, handler, canceller, o.isSentAgain) : sql(first, ...args);
}

const isTemplate = (first: unknown): first is TemplateStringsArray => Array.isArray(first) && "raw" in first;
