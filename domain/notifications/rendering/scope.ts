import type { Budget } from "./budget.ts";

/** What a block sees while it runs: its context, the contexts `../` leads to, loop values and named parameters. */
export interface Scope {
  context: unknown;
  /** The scope whose context `../` names. */
  parent: Scope | null;
  /** The scope of the block around this one; named parameters are found along this chain. */
  outer: Scope | null;
  /** The nearest `each` at or around this scope; `@index` and its like are read from it. */
  loop: LoopScope | null;
  /** Values of `as |a b|`, in order. */
  parameters: readonly unknown[];
}

export interface LoopScope extends Scope {
  index: number;
  key: string | number;
  isLast: boolean;
}

/** One render under way: the data it began with, what it has left, and its output so far. */
export interface Run {
  root: unknown;
  budget: Budget;
  output: string;
}

/** A lowered expression. */
export type Read = (run: Run, scope: Scope) => unknown;
/** A lowered statement: appends to `run.output`. */
export type Emit = (run: Run, scope: Scope) => void;

/** Appends finished text, which counts against the size of the render. */
export function write(run: Run, text: string): void {
  run.budget.addOutput(text);
  run.output += text;
}

/**
 * The scope inside `each` or `with`. As in Handlebars, a block whose context is the one it stands in adds no level
 * for `../` to climb.
 */
export function innerScope(outer: Scope, context: unknown, parameters: readonly unknown[]): Scope {
  const parent = context === outer.context ? outer.parent : outer;
  return { context, parent, outer, loop: outer.loop, parameters };
}

/** The scope of one turn of `each`. */
export function loopScope(outer: Scope, context: unknown, turn: Omit<LoopScope, keyof Scope>): LoopScope {
  const parent = context === outer.context ? outer.parent : outer;
  const scope: LoopScope = { context, parent, outer, loop: null, parameters: [context, turn.key], ...turn };
  scope.loop = scope;
  return scope;
}

/** The scope a render begins with. */
export function rootScope(data: unknown): Scope {
  return { context: data, parent: null, outer: null, loop: null, parameters: [] };
}
