import type { Source } from "./source.ts";
import type { Read, Scope } from "./scope.ts";
import type { Expression, PathExpression } from "./syntax.ts";
import { ownProperty } from "./values.ts";

/** The names that `as |a b|` defines, innermost block first. Each entry is one scope on the `outer` chain. */
export interface Names {
  source: Source;
  parameters: readonly (readonly string[])[];
}

const MAX_SEGMENTS = 32;
const LOOP_VALUES: Record<string, (scope: NonNullable<Scope["loop"]>) => unknown> = {
  index: (loop) => loop.index,
  key: (loop) => loop.key,
  first: (loop) => loop.index === 0,
  last: (loop) => loop.isLast,
};

/** Turns a path or literal into a function that returns its value. Throws TemplateInvalid. */
export function lowerExpression(expression: Expression, names: Names): Read {
  if (expression.type === "PathExpression") return lowerPath(expression, names);
  const value = expression.type === "NullLiteral" ? null : expression.value;
  return () => value;
}

function lowerPath(path: PathExpression, names: Names): Read {
  const { parts, depth, original } = path;
  if (parts.length + depth > MAX_SEGMENTS) {
    const { line, column } = path.loc.start;
    throw names.source.invalidAtLine(line, column, `a path may have at most ${MAX_SEGMENTS} segments`);
  }
  if (path.data) return lowerDataPath(path, names);
  const [first, ...rest] = parts;
  if (first !== undefined && depth === 0 && !/^(\.|this\b)/.test(original)) {
    const level = names.parameters.findIndex((list) => list.includes(first));
    if (level !== -1) return follow(parameterAt(level, (names.parameters[level] ?? []).indexOf(first)), rest);
  }
  if (depth > 0) return follow((_run, scope) => climb(scope, depth)?.context, parts);
  return follow(first === undefined ? readContext : (_run, scope) => ownProperty(scope.context, first), rest);
}

function lowerDataPath(path: PathExpression, names: Names): Read {
  const [name = "", ...rest] = path.parts;
  if (name === "root") return follow((run) => run.root, rest);
  const value = Object.hasOwn(LOOP_VALUES, name) ? LOOP_VALUES[name] : undefined;
  if (value === undefined) {
    const { line, column } = path.loc.start;
    throw names.source.invalidAtLine(
      line,
      column,
      `\`@${name}\` is unknown; supported are @index, @key, @first, @last and @root`,
    );
  }
  const { depth } = path;
  return follow((_run, scope) => {
    let loop = scope.loop;
    for (let level = 0; level < depth && loop !== null; level++) loop = loop.outer?.loop ?? null;
    return loop === null ? undefined : value(loop);
  }, rest);
}

const readContext: Read = (_run, scope) => scope.context;

function parameterAt(level: number, position: number): Read {
  return (_run, scope) => {
    let at: Scope | null = scope;
    for (let climbed = 0; climbed < level && at !== null; climbed++) at = at.outer;
    return at?.parameters[position];
  };
}

function climb(scope: Scope, depth: number): Scope | null {
  let at: Scope | null = scope;
  for (let level = 0; level < depth && at !== null; level++) at = at.parent;
  return at;
}

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
