import type { TemplatePart } from "./errors.ts";
import { MAX_PARTIAL_DEPTH } from "./partials.ts";
import { parseSource } from "./parse.ts";
import { sampleValue, type Usage } from "./sample_values.ts";
import type { OutputTag } from "./scan.ts";
import { Source } from "./source.ts";
import type { BlockStatement, Expression, Hash, Program, Statement } from "./syntax.ts";
import type { TemplateSource } from "./template.ts";
import { TemplateLimitExceeded } from "./values/budget.ts";

/** What is known about a value: its members, its items, and what the template does with it. */
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

/** Where a block is: the value around it, and the named values. */
interface Place {
  context: Shape;
  parent: Place | null;
  root: Shape;
  names: ReadonlyMap<string, Shape>;
  partials: NonNullable<TemplateSource["partials"]>;
  tags: Iterator<OutputTag>;
  isHtml: boolean;
  /** Slugs of the partials around. */
  path: readonly string[];
  steps: Steps;
}

/**
 * The work and the size of the data of one template. Without a limit, nested lists and partials that use others many times
 * would cost exponentially much.
 */
class Steps {
  #left = MOST_STEPS;

  /** Throws TemplateLimitExceeded. */
  take(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw new TemplateLimitExceeded("steps", MOST_STEPS);
  }
}

const NUMBERS = ["number", "currency", "plural", "lt", "lte", "gt", "gte"];
const ITEMS = 2;
/** A step is a statement, 32 characters of a source, or a value. */
const MOST_STEPS = 100_000;

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

function visitSource(part: TemplatePart, text: string, place: Omit<Place, "tags" | "isHtml">): void {
  place.steps.take(text.length >> 5);
  const { program, tags } = parseSource(new Source(part, text));
  visit(program, { ...place, tags: tags.values(), isHtml: part === "html" });
}

function visit(program: Program | undefined, place: Place): void {
  for (const statement of program?.body ?? []) visitStatement(statement, place);
}

function visitStatement(statement: Statement, place: Place): void {
  place.steps.take(1);
  if (statement.type === "MustacheStatement") {
    const next = place.tags.next();
    const filters = next.done ? [] : next.value.filters;
    const usage = usageOf(filters.find(({ name }) => usageOf(name))?.name ?? "");
    if (statement.params.length > 0 || statement.hash) visitCall(statement, place);
    else use(statement.path, place, usage);
    for (const { args } of filters) {
      for (const arg of args) if (arg.kind === "path") follow(place.context, arg.parts);
    }
  } else if (statement.type === "BlockStatement") visitBlock(statement, place);
  else if (statement.type === "PartialStatement") {
    const slug = statement.name.type === "PathExpression" ? statement.name.original : "";
    const [subject] = statement.params;
    const context = subject ? shapeOf(subject, place) : place.context;
    const named = new Map(
      (statement.hash?.pairs ?? []).map(({ key, value }) => [key, shapeOf(value, place)]),
    );
    const part = Object.hasOwn(place.partials, slug) ? place.partials[slug] : undefined;
    const text = place.isHtml ? part?.html : part?.text;
    if (!text || place.path.includes(slug) || place.path.length >= MAX_PARTIAL_DEPTH) return;
    const { root, partials, steps } = place;
    const inside = { context, parent: null, root, names: named, partials, steps };
    visitSource(place.isHtml ? "html" : "text", text, { ...inside, path: [...place.path, slug] });
  }
}

function visitBlock(block: BlockStatement, place: Place): void {
  const name = block.path.type === "PathExpression" ? block.path.original : "";
  const [subject] = block.params;
  const isLoop = name === "each";
  if (!isLoop && name !== "with" || !subject) {
    if (name === "if" || name === "unless") subject && use(subject, place, "truth");
    else visitCall(block, place);
    visit(block.program, place);
    visit(block.inverse, place);
    return;
  }
  const shape = shapeOf(subject, place);
  const context = isLoop ? (shape.items ??= new Shape()) : shape;
  const [first] = block.program?.blockParams ?? [];
  const names = first === undefined ? place.names : new Map([...place.names, [first, context]]);
  visit(block.program, { ...place, context, names, parent: place });
  visit(block.inverse, place);
}

function visitCall(call: { path: Expression; params: Expression[]; hash?: Hash }, place: Place): void {
  const name = call.path.type === "PathExpression" ? call.path.original : "";
  const isNumeric = call.params.some(({ type }) => type === "NumberLiteral");
  call.params.forEach((param, at) => {
    const isCompared = name === "eq" || name === "ne" ? isNumeric : true;
    use(param, place, at === 0 || name.length <= 3 && isCompared ? usageOf(name, isNumeric) : null);
  });
  for (const { value } of call.hash?.pairs ?? []) use(value, place, null);
}

const usageOf = (name: string, isNumeric = false): Usage | null =>
  name === "date" ? "date" : NUMBERS.includes(name) || isNumeric ? "number" : null;

function use(expression: Expression, place: Place, usage: Usage | null): void {
  if (expression.type === "SubExpression") return visitCall(expression, place);
  const shape = shapeOf(expression, place);
  if (usage) shape.usages.add(usage);
}

/** The shape that an expression names. Literals, calls and `@index` get a new one that is not part of the data. */
function shapeOf(expression: Expression, place: Place): Shape {
  if (expression.type === "SubExpression") visitCall(expression, place);
  if (expression.type !== "PathExpression") return new Shape();
  const { parts, depth, data } = expression;
  if (data) return parts[0] === "root" ? follow(place.root, parts.slice(1)) : new Shape();
  const [first = ""] = parts;
  const named = depth === 0 ? place.names.get(first) : undefined;
  if (named) return follow(named, parts.slice(1));
  let at: Place | null = place;
  for (let level = 0; level < depth && at; level++) at = at.parent;
  return at ? follow(at.context, parts) : new Shape();
}

const follow = (shape: Shape, parts: readonly string[]): Shape =>
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
