import type { Budget } from "./values/budget.ts";

/** The variables visible in a block at render time. */
export interface Scope {
  context: unknown;
  /** The scope whose context is `../`. */
  parent: Scope | null;
  /** The scope of the surrounding block. Named parameters are looked up along this chain. */
  outer: Scope | null;
  /** The innermost `each` around this scope; source of `@index`, `@key`, `@first` and `@last`. */
  loop: LoopScope | null;
  /** Values of the names in `as |a b|`, in order. */
  parameters: readonly unknown[];
}

export interface LoopScope extends Scope {
  index: number;
  key: string | number;
  isLast: boolean;
}

/** The state of one render: its data, its remaining budget and its output so far. */
export interface Run {
  root: unknown;
  /** The tenant's looks. */
  looks: Readonly<Record<string, unknown>>;
  budget: Budget;
  output: string;
}

/** A compiled expression: returns its value. */
export type Read = (run: Run, scope: Scope) => unknown;
/** A compiled statement: appends to `run.output`. */
export type Emit = (run: Run, scope: Scope) => void;

/** Appends text to the output and counts its size. */
export function write(run: Run, text: string): void {
  run.budget.addOutput(text);
  run.output += text;
}

/** The scope inside `with`. As in Handlebars, a block that does not change the context adds no level for `../`. */
export function innerScope(outer: Scope, context: unknown, parameters: readonly unknown[]): Scope {
  const parent = context === outer.context ? outer.parent : outer;
  return { context, parent, outer, loop: outer.loop, parameters };
}

/** The scope of one iteration of `each`. */
export function loopScope(outer: Scope, context: unknown, turn: Omit<LoopScope, keyof Scope>): LoopScope {
  const parent = context === outer.context ? outer.parent : outer;
  const scope: LoopScope = { context, parent, outer, loop: null, parameters: [context, turn.key], ...turn };
  scope.loop = scope;
  return scope;
}

/** The outermost scope of a render. */
export function rootScope(data: unknown): Scope {
  return { context: data, parent: null, outer: null, loop: null, parameters: [] };
}
