import { escapeExpression } from "handlebars/dist/cjs/handlebars/utils.js";
import { TemplateInvalid } from "./errors.ts";
import { functionOf, lowerCall, lowerExpression } from "./expressions.ts";
import { applyFilters } from "./filters.ts";
import { type CompiledPartial, type Lowering, MAX_PARTIAL_DEPTH, type PartSource } from "./lowering.ts";
import { parseSource } from "./parse.ts";
import type { OutputTag } from "./scan.ts";
import {
  type Emit,
  innerScope,
  loopScope,
  type Read,
  rootScope,
  type Run,
  type Scope,
  write,
} from "./scope.ts";
import { Source } from "./source.ts";
import type { BlockStatement, OutputStatement, PartialStatement, Program, Statement } from "./syntax.ts";
import { isFalsy, textOf } from "./values/values.ts";

const NOTHING: Emit = () => {};

/** Turns a parsed template into closures that write its output. Visits statements in document order. */
export function lowerProgram(program: Program, lowering: Lowering): Emit {
  const emits = program.body.map((statement) => lowerStatement(statement, lowering))
    .filter((emit) => emit !== null);
  const [only] = emits;
  if (emits.length === 1 && only !== undefined) return only;
  return (run, scope) => {
    for (const emit of emits) emit(run, scope);
  };
}

function lowerStatement(statement: Statement, lowering: Lowering): Emit | null {
  switch (statement.type) {
    case "CommentStatement":
      return null;
    case "ContentStatement": {
      const { value } = statement;
      return value === "" ? null : (run) => {
        run.budget.charge(value.length);
        write(run, value);
      };
    }
    case "MustacheStatement":
      return lowerOutput(statement, lowering);
    case "BlockStatement":
      return lowerBlock(statement, lowering);
    case "PartialStatement":
      return lowerPartial(statement, lowering);
  }
}

function lowerOutput(statement: OutputStatement, lowering: Lowering): Emit {
  const { source } = lowering;
  const next = lowering.tags.next();
  const tag: OutputTag = next.done ? { offset: 0, filters: [] } : next.value;
  const name = statement.path.type === "PathExpression" ? statement.path.original : "a literal";
  if (next.done) throw source.invalidAt(0, `the position of the tag \`${name}\` could not be found`);
  const isCall = statement.params.length > 0 || (statement.hash?.pairs.length ?? 0) > 0;
  if (lowering.body && name === "body" && !isCall && tag.filters.length === 0) return lowering.body;
  const value = isCall ? lowerCall(statement, lowering) : lowerExpression(statement.path, lowering);
  const read: Read = applyFilters(value, tag.filters, lowering);
  if (lowering.isHtml && statement.escaped) {
    return (run, scope) => write(run, escapeExpression(textOf(read(run, scope), run.budget)));
  }
  return (run, scope) => write(run, textOf(read(run, scope), run.budget));
}

/** Turns an `if`, `unless`, `each`, `with` or comparison block into a closure. Throws TemplateInvalid for other blocks. */
function lowerBlock(block: BlockStatement, lowering: Lowering): Emit {
  const name = block.path.type === "PathExpression" ? block.path.original : "";
  const [subject, ...surplus] = block.params;
  const invalid = (reason: string) => {
    const { line, column } = block.loc.start;
    return lowering.source.invalidAtLine(line, column, reason);
  };
  if (functionOf(block.path)?.isCondition) return lowerComparison(block, lowering);
  if (!["if", "unless", "each", "with"].includes(name)) {
    throw invalid(
      `\`${name}\` is not a block; the blocks are if, unless, each, with and comparisons such as eq`,
    );
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
  // Programs are lowered in document order, as the output tags are. In `{{^if x}}` the else branch comes first. It runs in
  // the scope around the block.
  const leadingElse = startsBefore(block.inverse, block.program)
    ? lowerOptional(block.inverse, lowering)
    : null;
  const body = lowerOptional(block.program, inside);
  const otherwise = leadingElse ?? lowerOptional(block.inverse, lowering);

  if (isCondition) {
    const zero = includeZero === undefined ? null : lowerExpression(includeZero, lowering);
    const [whenTrue, whenFalse] = name === "if" ? [body, otherwise] : [otherwise, body];
    return condition(read, zero, whenTrue, whenFalse);
  }
  return name === "each" ? each(read, body, otherwise) : withBlock(read, body, otherwise);
}

/** Turns a block such as `{{#eq a b}}` into the closure of `{{#if (eq a b)}}`. */
function lowerComparison(block: BlockStatement, lowering: Lowering): Emit {
  const read = lowerCall(block, lowering);
  const leadingElse = startsBefore(block.inverse, block.program)
    ? lowerOptional(block.inverse, lowering)
    : null;
  const body = lowerOptional(block.program, lowering);
  return condition(read, null, body, leadingElse ?? lowerOptional(block.inverse, lowering));
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

/** Writes one of two programs, as `if` and `unless` do. @param zero `includeZero`; null: zero counts as false */
function condition(read: Read, zero: Read | null, whenTrue: Emit, whenFalse: Emit): Emit {
  return (run, scope) => {
    run.budget.charge(0);
    const isZeroTrue = zero !== null && Boolean(zero(run, scope));
    (isFalsy(read(run, scope), isZeroTrue) ? whenFalse : whenTrue)(run, scope);
  };
}

/** Writes `body` inside of a value, or `otherwise` if the value is empty. */
function withBlock(read: Read, body: Emit, otherwise: Emit): Emit {
  return (run, scope) => {
    run.budget.charge(0);
    const value = read(run, scope);
    if (isFalsy(value, true)) otherwise(run, scope);
    else body(run, innerScope(scope, value, [value]));
  };
}

/** Writes `body` for each item or property of a value. For an empty value it writes `otherwise`. */
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

/**
 * Turns `{{> slug value name=value}}` into a closure. The context of the partial is the given value, or without one the
 * context of the tag; the named values are added to it. It has no `../`. Each partial is compiled once per part. Throws
 * TemplateInvalid.
 */
function lowerPartial(statement: PartialStatement, lowering: Lowering): Emit {
  const { line, column } = statement.loc.start;
  const invalid = (reason: string) => lowering.source.invalidAtLine(line, column, reason);
  const slug = statement.name.type === "PathExpression" ? statement.name.original : null;
  if (slug === null) throw invalid("expected the slug of a partial, as in {{> address}}");
  const [subject, ...surplus] = statement.params;
  if (surplus.length > 0) throw invalid(`the partial \`${slug}\` takes at most one value`);
  const { emit } = compilePartial(slug, lowering, invalid);
  const read = subject && lowerExpression(subject, lowering);
  const named = (statement.hash?.pairs ?? []).map(({ key, value }) =>
    [key, lowerExpression(value, lowering)] as const
  );
  return (run, scope) => {
    run.budget.charge(0);
    const around = read ? read(run, scope) : scope.context;
    if (named.length === 0) return emit(run, rootScope(around));
    const members = typeof around === "object" && around !== null ? Object.entries(around) : [];
    run.budget.charge(members.length * 32);
    const added = named.map(([key, value]) => [key, value(run, scope)]);
    emit(run, rootScope(Object.fromEntries([...members, ...added])));
  };
}

function compilePartial(
  slug: string,
  lowering: Lowering,
  invalid: (reason: string) => TemplateInvalid,
): CompiledPartial {
  const { path, compiled } = lowering.partials;
  if (path.includes(slug)) {
    throw invalid(`the partial \`${slug}\` contains itself: ${[...path, slug].join(" → ")}`);
  }
  const tooDeep = `partials may contain partials at most ${MAX_PARTIAL_DEPTH} levels deep`;
  if (path.length >= MAX_PARTIAL_DEPTH) throw invalid(tooDeep);
  const known = compiled.get(slug) ?? compile(slug, lowering, invalid);
  compiled.set(slug, known);
  if (path.length + known.levels > MAX_PARTIAL_DEPTH) throw invalid(tooDeep);
  lowering.partials.levels = Math.max(lowering.partials.levels, known.levels);
  return known;
}

function compile(
  slug: string,
  lowering: Lowering,
  invalid: (reason: string) => TemplateInvalid,
): CompiledPartial {
  const { sources, path, compiled } = lowering.partials;
  const part: PartSource | undefined = Object.hasOwn(sources, slug) ? sources[slug] : undefined;
  if (!part) throw invalid(`there is no partial \`${slug}\``);
  const text = lowering.isHtml ? part.html : part.text;
  if (text === null) {
    throw invalid(`the partial \`${slug}\` has no ${lowering.isHtml ? "HTML" : "text"} body`);
  }
  const source = new Source(lowering.source.part, text);
  const partials = { sources, compiled, path: [...path, slug], levels: 0 };
  try {
    const { program, tags } = parseSource(source);
    const emit = lowerProgram(program, {
      source,
      partials,
      locale: lowering.locale,
      texts: part.texts,
      parameters: [],
      isHtml: lowering.isHtml,
      tags: tags.values(),
      body: null,
    });
    return { emit, levels: 1 + partials.levels };
  } catch (error) {
    if (!(error instanceof TemplateInvalid)) throw error;
    throw invalid(`in the partial \`${slug}\`, line ${error.line}, column ${error.column}: ${error.reason}`);
  }
}
