import { type Emit, innerScope, loopScope, type Read, type Run, type Scope } from "./scope.ts";
import { isFalsy } from "./values/values.ts";

/** Writes one of two programs, as `if` and `unless` do. @param zero `includeZero`; null: zero counts as false */
export function condition(read: Read, zero: Read | null, whenTrue: Emit, whenFalse: Emit): Emit {
  return (run, scope) => {
    run.budget.charge(0);
    const isZeroTrue = zero !== null && Boolean(zero(run, scope));
    (isFalsy(read(run, scope), isZeroTrue) ? whenFalse : whenTrue)(run, scope);
  };
}

/** Writes `body` inside of a value, or `otherwise` if the value is empty. */
export function withBlock(read: Read, body: Emit, otherwise: Emit): Emit {
  return (run, scope) => {
    run.budget.charge(0);
    const value = read(run, scope);
    if (isFalsy(value, true)) otherwise(run, scope);
    else body(run, innerScope(scope, value, [value]));
  };
}

/** Writes `body` for each item or property of a value. For an empty value it writes `otherwise`. */
export function each(read: Read, body: Emit, otherwise: Emit): Emit {
  return (run, scope) => {
    const value = read(run, scope);
    const count = Array.isArray(value)
      ? eachItem(run, scope, value, body)
      : typeof value === "object" && value !== null
      ? eachProperty(run, scope, value as Record<string, unknown>, body)
      : 0;
    run.budget.charge(0);
    if (count === 0) otherwise(run, scope);
  };
}

function eachItem(run: Run, scope: Scope, items: readonly unknown[], body: Emit): number {
  for (let index = 0; index < items.length; index++) {
    run.budget.charge(0);
    body(run, loopScope(scope, items[index], { index, key: index, isLast: index === items.length - 1 }));
  }
  return items.length;
}

function eachProperty(run: Run, scope: Scope, value: Record<string, unknown>, body: Emit): number {
  const keys = Object.keys(value);
  run.budget.charge(keys.length * 32);
  for (const [index, key] of keys.entries()) {
    run.budget.charge(0);
    body(run, loopScope(scope, value[key], { index, key, isLast: index === keys.length - 1 }));
  }
  return keys.length;
}
