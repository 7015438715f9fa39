// A workaround for postgres.js 3.4.9, whose statements and parts of statements are costly. Each is a promise with two functions
// assigned to it. V8 allocates a function that is assigned to a member in the old generation (`set_pretenure` in its parser), so
// each statement, its rows and the request that awaits it live until a full garbage collection. Remove this once the driver's
// `Query` assigns no functions. `light_statements_test.ts` fails if it has other members than those here.
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
  cancelled = null;
  executed = false;
  signature = "";
  outcome: PromiseWithResolvers<unknown> | null = null;
  declare handle: () => void;

  constructor(
    readonly strings: TemplateStringsArray,
    readonly args: unknown[],
    readonly handler: unknown,
    readonly canceller: unknown,
  ) {
    if (!origins.has(strings)) origins.set(strings, new Error());
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

/** Makes the statements of `sql` instead of the driver: of a template, as light ones; of all else, such as names, as usual. */
export function lightStatements(sql: Sql): (...given: Parameters<Sql>) => unknown {
  const own = sql`` as unknown as DriverQuery;
  Object.setPrototypeOf(Statement.prototype, Object.getPrototypeOf(own));
  const { handler, canceller } = own;
  return (first, ...args) =>
    isTemplate(first) ? new Statement(first, args, handler, canceller) : sql(first, ...args);
}

const isTemplate = (first: unknown): first is TemplateStringsArray => Array.isArray(first) && "raw" in first;
