import { FUNCTION_NAMES, FUNCTIONS, type Options, type TemplateFunction } from "./values/functions.ts";
import type { Source } from "./source.ts";
import type { Read, Scope } from "./scope.ts";
import type { Call, Expression, PathExpression } from "./syntax.ts";
import { ownProperty } from "./values/values.ts";

/** The source and the visible names of an expression that is lowered. */
export interface ExpressionContext {
  source: Source;
  /** Canonical tag of the language in which values are formatted. */
  locale: string;
  /** The texts of `t`. */
  texts: Readonly<Record<string, string>>;
  /** The names that `as |a b|` defines, innermost block first. Each entry is one scope on the `outer` chain. */
  parameters: readonly (readonly string[])[];
}

const MAX_SEGMENTS = 32;
const LOOP_VALUES: Record<string, (scope: NonNullable<Scope["loop"]>) => unknown> = {
  index: (loop) => loop.index,
  key: (loop) => loop.key,
  first: (loop) => loop.index === 0,
  last: (loop) => loop.isLast,
};

/** Turns a path, literal or call into a function that returns its value. Throws TemplateInvalid. */
export function lowerExpression(expression: Expression, context: ExpressionContext): Read {
  if (expression.type === "PathExpression") return lowerPath(expression, context);
  if (expression.type === "SubExpression") return lowerCall(expression, context);
  const value = expression.type === "NullLiteral" ? null : expression.value;
  return () => value;
}

function lowerPath(path: PathExpression, context: ExpressionContext): Read {
  const { parts, depth, original } = path;
  if (parts.length + depth > MAX_SEGMENTS) {
    const { line, column } = path.loc.start;
    throw context.source.invalidAtLine(line, column, `a path may have at most ${MAX_SEGMENTS} segments`);
  }
  if (path.data) return lowerDataPath(path, context);
  const [first, ...rest] = parts;
  if (first !== undefined && depth === 0 && !/^(\.|this\b)/.test(original)) {
    const level = context.parameters.findIndex((list) => list.includes(first));
    if (level !== -1) {
      return follow(parameterAt(level, (context.parameters[level] ?? []).indexOf(first)), rest);
    }
  }
  if (depth > 0) return follow((_run, scope) => ancestorOf(scope, depth)?.context, parts);
  return follow(
    first === undefined ? (_run, scope) => scope.context : (_run, scope) => ownProperty(scope.context, first),
    rest,
  );
}

function lowerDataPath(path: PathExpression, context: ExpressionContext): Read {
  const [name = "", ...rest] = path.parts;
  if (name === "root") return follow((run) => run.root, rest);
  if (name === "looks") return follow((run) => run.looks, rest);
  const value = Object.hasOwn(LOOP_VALUES, name) ? LOOP_VALUES[name] : undefined;
  if (value === undefined) {
    const { line, column } = path.loc.start;
    throw context.source.invalidAtLine(
      line,
      column,
      `\`@${name}\` is unknown; supported are @index, @key, @first, @last, @root and @looks`,
    );
  }
  const { depth } = path;
  return follow((_run, scope) => {
    let loop = scope.loop;
    for (let level = 0; level < depth && loop !== null; level++) loop = loop.outer?.loop ?? null;
    return loop === null ? undefined : value(loop);
  }, rest);
}

function parameterAt(level: number, position: number): Read {
  return (_run, scope) => {
    let at: Scope | null = scope;
    for (let climbed = 0; climbed < level && at !== null; climbed++) at = at.outer;
    return at?.parameters[position];
  };
}

/** The scope that `depth` times `../` leads to; null if there is none. */
function ancestorOf(scope: Scope, depth: number): Scope | null {
  let at: Scope | null = scope;
  for (let level = 0; level < depth && at !== null; level++) at = at.parent;
  return at;
}

/** Reads the member of a value at a path. */
function follow(start: Read, parts: readonly string[]): Read {
  const [first, ...rest] = parts;
  if (first === undefined) return start;
  if (rest.length === 0) return (run, scope) => ownProperty(start(run, scope), first);
  return (run, scope) => {
    let value = start(run, scope);
    for (const part of parts) value = ownProperty(value, part);
    return value;
  };
}

const nameOf = (path: Expression): string => path.type === "PathExpression" ? path.original : "a literal";

/** The function that a call names, if there is one. */
export const functionOf = (path: Expression): TemplateFunction | undefined => FUNCTIONS.get(nameOf(path));

/** Turns a call into a function that returns its result. Throws TemplateInvalid for wrong arguments. */
export function lowerCall(call: Call, context: ExpressionContext): Read {
  const { source, locale, texts } = context;
  const name = nameOf(call.path);
  const { line, column } = call.loc.start;
  const invalid = (reason: string) => source.invalidAtLine(line, column, `\`${name}\` ${reason}`);
  const found = FUNCTIONS.get(name);
  if (!found) throw invalid(`is not a function; the functions are ${FUNCTION_NAMES.join(", ")}`);
  const { minArguments: min, maxArguments: max } = found;
  if (call.params.length < min || call.params.length > max) {
    const expected = min === max ? `${min}` : `${min} to ${max}`;
    throw invalid(`takes ${expected} value${expected === "1" ? "" : "s"}, found ${call.params.length}`);
  }
  const pairs = call.hash?.pairs ?? [];
  const unknown = pairs.find(({ key }) => found.options !== "any" && !found.options.includes(key));
  if (unknown) throw invalid(`has no option \`${unknown.key}\``);
  const reads = call.params.map((param) => lowerExpression(param, context));
  const options = pairs.map(({ key, value }) => [key, lowerExpression(value, context)] as const);
  const check = (args: unknown[], given: Options) => {
    const problem = found.check?.(args, given, locale) ?? null;
    if (problem !== null) throw invalid(problem);
  };

  if (isSubjectOnly(call)) {
    // All arguments but the first are literals, so they are checked once, when the template is compiled.
    const [args, given] = [
      call.params.map(literalOf),
      Object.fromEntries(pairs.map((pair) => [pair.key, literalOf(pair.value)])),
    ];
    check(args, given);
    const [first] = reads;
    const rest = args.slice(1);
    return (run, scope) =>
      found.call([first?.(run, scope), ...rest], given, { locale, texts, budget: run.budget });
  }
  return (run, scope) => {
    const args = reads.map((read) => read(run, scope));
    const given = Object.fromEntries(options.map(([key, read]) => [key, read(run, scope)]));
    if (found.check) {
      run.budget.charge(4_096); // a check may create a formatter, which is expensive
      check(args, given);
    }
    return found.call(args, given, { locale, texts, budget: run.budget });
  };
}

const isLiteral = ({ type }: Expression): boolean => type !== "PathExpression" && type !== "SubExpression";

const isSubjectOnly = ({ params, hash }: Call): boolean =>
  params.slice(1).every(isLiteral) && (hash?.pairs ?? []).every(({ value }) => isLiteral(value));

const literalOf = (expression: Expression): unknown =>
  expression.type === "PathExpression" || expression.type === "SubExpression"
    ? undefined
    : expression.type === "NullLiteral"
    ? null
    : expression.value;
