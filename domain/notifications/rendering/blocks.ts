import { lowerExpression } from "./expressions.ts";
import { type Lowering, lowerProgram } from "./lower.ts";
import { type Emit, innerScope, loopScope, type Read, type Run, type Scope } from "./scope.ts";
import type { BlockStatement, Program } from "./syntax.ts";
import { isFalsy } from "./values.ts";

const NOTHING: Emit = () => {};

/** Turns an `if`, `unless`, `each` or `with` block into a closure. Throws TemplateInvalid for other blocks. */
export function lowerBlock(block: BlockStatement, lowering: Lowering): Emit {
  const name = block.path.type === "PathExpression" ? block.path.original : "";
  const [subject, ...surplus] = block.params;
  const invalid = (reason: string) => {
    const { line, column } = block.loc.start;
    return lowering.source.invalidAtLine(line, column, reason);
  };
  if (!["if", "unless", "each", "with"].includes(name)) {
    throw invalid(`\`${name}\` is not a block; the blocks are if, unless, each and with`);
  }
  if (subject === undefined || surplus.length > 0) {
    throw invalid(`\`${name}\` takes one value, found ${block.params.length}`);
  }
  const isCondition = name === "if" || name === "unless";
  const option = block.hash?.pairs.find((pair) => !isCondition || pair.key !== "includeZero");
  if (option !== undefined) throw invalid(`\`${name}\` has no option \`${option.key}\``);
  const includeZero = block.hash?.pairs[0]?.value;

  const read = lowerExpression(subject, lowering);
  const names = block.program?.blockParams ?? [];
  if (isCondition && names.length > 0) throw invalid(`\`${name}\` does not support \`as |…|\``);
  const inside = isCondition ? lowering : { ...lowering, parameters: [names, ...lowering.parameters] };
  // The else branch runs in the scope around the block. In `{{^if x}}` it comes first in the document.
  const early = startsBefore(block.inverse, block.program) ? lowerOptional(block.inverse, lowering) : null;
  const body = lowerOptional(block.program, inside);
  const otherwise = early ?? lowerOptional(block.inverse, lowering);

  if (isCondition) {
    const zero = includeZero === undefined ? null : lowerExpression(includeZero, lowering);
    const [whenTrue, whenFalse] = name === "if" ? [body, otherwise] : [otherwise, body];
    return condition(read, zero, whenTrue, whenFalse);
  }
  return name === "each" ? each(read, body, otherwise) : withBlock(read, body, otherwise);
}

function lowerOptional(program: Program | undefined, lowering: Lowering): Emit {
  return program === undefined ? NOTHING : lowerProgram(program, lowering);
}

/** True if `one` starts before `other`. Programs without a position are empty, so their order does not matter. */
function startsBefore(one: Program | undefined, other: Program | undefined): boolean {
  const [a, b] = [one?.loc?.start, other?.loc?.start];
  return a !== undefined && b !== undefined &&
    (a.line < b.line || (a.line === b.line && a.column < b.column));
}

function condition(read: Read, zero: Read | null, whenTrue: Emit, whenFalse: Emit): Emit {
  return (run, scope) => {
    run.budget.charge(0);
    const isZeroTrue = zero !== null && Boolean(zero(run, scope));
    (isFalsy(read(run, scope), isZeroTrue) ? whenFalse : whenTrue)(run, scope);
  };
}

function withBlock(read: Read, body: Emit, otherwise: Emit): Emit {
  return (run, scope) => {
    run.budget.charge(0);
    const value = read(run, scope);
    if (isFalsy(value, true)) otherwise(run, scope);
    else body(run, innerScope(scope, value, [value]));
  };
}

function each(read: Read, body: Emit, otherwise: Emit): Emit {
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
