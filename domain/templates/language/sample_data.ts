import type { TemplatePart } from "./errors.ts";
import { MAX_PARTIAL_DEPTH } from "./lowering.ts";
import { parseSource } from "./parse.ts";
import type { OutputTag } from "./scan.ts";
import { Source } from "./source.ts";
import type { BlockStatement, Call, Expression, Program, Statement } from "./syntax.ts";
import type { TemplateSource } from "./template.ts";
import { TemplateLimitExceeded } from "./values/budget.ts";

/** The facts known about a value: its members, its items, and how the template uses it. */
class Shape {
  readonly members = new Map<string, Shape>();
  items: Shape | null = null;
  readonly usages = new Set<Usage>();

  member(name: string): Shape {
    const known = this.members.get(name) ?? new Shape();
    this.members.set(name, known);
    return known;
  }
}

/** The variables that are visible in a block, and the state of the visit. */
interface VisitScope {
  context: Shape;
  parent: VisitScope | null;
  root: Shape;
  names: ReadonlyMap<string, Shape>;
  partials: NonNullable<TemplateSource["partials"]>;
  tags: Iterator<OutputTag>;
  isHtml: boolean;
  /** Slugs of the surrounding partials. */
  path: readonly string[];
  steps: Steps;
}

/**
 * Limits the work and the size of the data of one template. Without a limit, the cost of nested lists and of partials that
 * use others many times would grow exponentially.
 */
class Steps {
  #left = MAX_STEPS;

  /** Throws TemplateLimitExceeded. */
  take(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw new TemplateLimitExceeded("steps", MAX_STEPS);
  }
}

const NUMBERS = ["number", "currency", "plural", "lt", "lte", "gt", "gte"];
const ITEMS = 2;
/** A step is a statement, 32 characters of a source, or a value. */
const MAX_STEPS = 100_000;

/**
 * Data with a fitting value for every variable that a template, its layout and its partials use. `each` gives a list of
 * two items. Throws TemplateInvalid and TemplateLimitExceeded.
 */
export function sampleData(source: TemplateSource): Record<string, unknown> {
  const root = new Shape();
  const steps = new Steps();
  const { layout, partials = {} } = source;
  const sources: [TemplatePart, string | null | undefined][] = [
    ["subject", source.subject],
    ["html", source.html],
    ["text", source.text],
    ["html", layout?.html],
    ["text", layout?.text],
  ];
  for (const [part, text] of sources) {
    if (text) {
      const names = new Map<string, Shape>();
      visitSource(part, text, { context: root, parent: null, root, names, partials, path: [], steps });
    }
  }
  if (layout) root.members.delete("body");
  for (const name of source.requiredVariables) {
    name.split(".").reduce((shape, part) => shape.member(part), root);
  }
  return Object.fromEntries([...root.members].map(([name, shape]) => [name, valueOf(name, shape, steps)]));
}

function visitSource(part: TemplatePart, text: string, scope: Omit<VisitScope, "tags" | "isHtml">): void {
  scope.steps.take(text.length >> 5);
  const { program, tags } = parseSource(new Source(part, text));
  visit(program, { ...scope, tags: tags.values(), isHtml: part === "html" });
}

function visit(program: Program | undefined, scope: VisitScope): void {
  for (const statement of program?.body ?? []) visitStatement(statement, scope);
}

function visitStatement(statement: Statement, scope: VisitScope): void {
  scope.steps.take(1);
  if (statement.type === "MustacheStatement") {
    const next = scope.tags.next();
    const filters = next.done ? [] : next.value.filters;
    const usage = usageOf(filters.find(({ name }) => usageOf(name))?.name ?? "");
    if (statement.params.length > 0 || statement.hash) visitCall(statement, scope);
    else use(statement.path, scope, usage);
    for (const { args } of filters) {
      for (const arg of args) if (arg.kind === "path") memberAt(scope.context, arg.parts);
    }
  } else if (statement.type === "BlockStatement") visitBlock(statement, scope);
  else if (statement.type === "PartialStatement") {
    const slug = statement.name.type === "PathExpression" ? statement.name.original : "";
    const [subject] = statement.params;
    const context = subject ? shapeOf(subject, scope) : scope.context;
    const named = new Map(
      (statement.hash?.pairs ?? []).map(({ key, value }) => [key, shapeOf(value, scope)]),
    );
    const part = Object.hasOwn(scope.partials, slug) ? scope.partials[slug] : undefined;
    const text = scope.isHtml ? part?.html : part?.text;
    if (!text || scope.path.includes(slug) || scope.path.length >= MAX_PARTIAL_DEPTH) return;
    const { root, partials, steps } = scope;
    const inside = { context, parent: null, root, names: named, partials, steps };
    visitSource(scope.isHtml ? "html" : "text", text, { ...inside, path: [...scope.path, slug] });
  }
}

function visitBlock(block: BlockStatement, scope: VisitScope): void {
  const name = block.path.type === "PathExpression" ? block.path.original : "";
  const [subject] = block.params;
  const isLoop = name === "each";
  if (!isLoop && name !== "with" || !subject) {
    if (name === "if" || name === "unless") subject && use(subject, scope, "truth");
    else visitCall(block, scope);
    visit(block.program, scope);
    visit(block.inverse, scope);
    return;
  }
  const shape = shapeOf(subject, scope);
  const context = isLoop ? (shape.items ??= new Shape()) : shape;
  const [first] = block.program?.blockParams ?? [];
  const names = first === undefined ? scope.names : new Map([...scope.names, [first, context]]);
  visit(block.program, { ...scope, context, names, parent: scope });
  visit(block.inverse, scope);
}

function visitCall(call: Omit<Call, "loc">, scope: VisitScope): void {
  const name = call.path.type === "PathExpression" ? call.path.original : "";
  const isNumeric = call.params.some(({ type }) => type === "NumberLiteral");
  call.params.forEach((param, at) => {
    const isCompared = name === "eq" || name === "ne" ? isNumeric : true;
    use(param, scope, at === 0 || name.length <= 3 && isCompared ? usageOf(name, isNumeric) : null);
  });
  for (const { value } of call.hash?.pairs ?? []) use(value, scope, null);
}

const usageOf = (name: string, isNumeric = false): Usage | null =>
  name === "date" ? "date" : NUMBERS.includes(name) || isNumeric ? "number" : null;

function use(expression: Expression, scope: VisitScope, usage: Usage | null): void {
  if (expression.type === "SubExpression") return visitCall(expression, scope);
  const shape = shapeOf(expression, scope);
  if (usage) shape.usages.add(usage);
}

/** The shape that an expression names. Literals, calls and `@index` get a new one that is not part of the data. */
function shapeOf(expression: Expression, scope: VisitScope): Shape {
  if (expression.type === "SubExpression") visitCall(expression, scope);
  if (expression.type !== "PathExpression") return new Shape();
  const { parts, depth, data } = expression;
  if (data) return parts[0] === "root" ? memberAt(scope.root, parts.slice(1)) : new Shape();
  const [first = ""] = parts;
  const named = depth === 0 ? scope.names.get(first) : undefined;
  if (named) return memberAt(named, parts.slice(1));
  let at: VisitScope | null = scope;
  for (let level = 0; level < depth && at; level++) at = at.parent;
  return at ? memberAt(at.context, parts) : new Shape();
}

const memberAt = (shape: Shape, parts: readonly string[]): Shape =>
  parts.reduce((at, part) => part === "length" ? new Shape() : at.member(part), shape);

function valueOf(name: string, shape: Shape, steps: Steps): unknown {
  steps.take(1);
  const { items } = shape;
  if (items) return Array.from({ length: ITEMS }, () => valueOf(name.replace(/s$/, ""), items, steps));
  if (shape.members.size === 0) return sampleValue(name, shape.usages);
  return Object.fromEntries(
    [...shape.members].map(([member, inner]) => [member, valueOf(member, inner, steps)]),
  );
}

/** The use of a value in a template: formatted as a date or number, or tested as a condition. */
type Usage = "date" | "number" | "truth";

const BY_NAME: [name: RegExp, value: (name: string) => unknown][] = [
  [/^(is|has|can|should)[A-Z_]/, () => true],
  [
    /(url|link|href)$/i,
    (name) => `https://example.com/${name.replace(/(url|link|href)$/i, "").toLowerCase() || "page"}`,
  ],
  [/e-?mail$|address$/i, (name) => /street|postal/i.test(name) ? "1 Example Street" : "maria@example.com"],
  [/phone|mobile/i, () => "+351912345678"],
  [/^(first|given)_?name$/i, () => "Maria"],
  [/^(last|family)_?name$/i, () => "Silva"],
  [/^(user|customer|full|display)?_?name$/i, () => "Maria Silva"],
  [/(company|tenant|organi[sz]ation)_?(name)?$/i, () => "Northwind"],
  [/(date|day|At|Until|On|deadline)$/, () => "2026-03-14T09:30:00Z"],
  [/^(date|when|at|since|until)$/i, () => "2026-03-14T09:30:00Z"],
  [/time_?zone/i, () => "Europe/Lisbon"],
  [/currency/i, () => "EUR"],
  [/(amount|total|price|sum|cost|balance)$/i, () => 1234.5],
  [/(count|quantity|number|minutes|hours|days|seconds|percent|age|items?Left)$/i, () => 3],
  [/locale|language/i, () => "en"],
  [/id$/i, () => "A-1042"],
  [/code$/i, () => "481516"],
];

/** A fitting value for a variable that a template only writes, by its name and by what the template does with it. */
function sampleValue(name: string, usages: ReadonlySet<Usage>): unknown {
  if (usages.has("date")) return "2026-03-14T09:30:00Z";
  const [, found] = BY_NAME.find(([pattern]) => pattern.test(name)) ?? [];
  const value = found?.(name);
  if (usages.has("number")) return typeof value === "number" ? value : 3;
  if (value !== undefined) return value;
  return usages.has("truth") ? true : `Sample ${name}`;
}
