import { requireStorableText } from "../../shared/storable.ts";
import {
  type Attribute,
  attributeOf,
  coreAttribute,
  isUrn,
  type ResourceType,
  scimProblem,
  subAttributeOf,
} from "./schema.ts";

/** An attribute that a path or filter names. */
export interface Target {
  /** True: it belongs to the extension of the resource type. */
  isExtension: boolean;
  attribute: Attribute;
  sub: Attribute | null;
}

/** The name of an attribute, such as `name.givenName`. */
export const nameOf = ({ attribute, sub }: Target): string =>
  sub ? `${attribute.name}.${sub.name}` : attribute.name;

const COMPARISONS = ["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"] as const;
export type Comparison = typeof COMPARISONS[number];
export type Value = string | boolean | null;

/** A filter (RFC 7644, 3.4.2.2) with resolved attributes. `some`: one value of the attribute passes the inner filter. */
export type Filter =
  | { op: "and" | "or"; left: Filter; right: Filter }
  | { op: "not"; inner: Filter }
  | { op: "some"; target: Target; inner: Filter }
  | { op: "pr"; target: Target }
  | { op: Comparison; target: Target; value: Value };

/** The path of a PATCH operation. A null target is the extension as a whole. */
export interface Path {
  target: Target | null;
  filter: Filter | null;
}

/** The most comparisons and brackets of a filter, so that neither its statement nor the stack grows without bound. */
const MAX_PARTS = 50;
const TOKEN = /\s*("(?:[^"\\]|\\.)*"|[()[\]]|[^\s()[\]"]+)/y;

/** Parses a filter of a list. @throws invalidFilter */
export function parseFilter(type: ResourceType, text: string): Filter {
  const parser = new Parser(text, "invalidFilter", (name) => resolve(type, name));
  const filter = parser.filter();
  parser.end();
  return filter;
}

/** Parses the path of a PATCH operation, such as `emails[type eq "work"].value`. @throws invalidPath */
export function parsePath(type: ResourceType, text: string): Path {
  if (type.extension && isUrn(text.trim(), type.extension.id)) return { target: null, filter: null };
  return new Parser(text, "invalidPath", (name) => resolve(type, name)).path();
}

/** Finds the attribute of `[urn:]name[.sub]`; undefined if the resource type has none. */
function resolve(type: ResourceType, text: string): Target | undefined {
  const [, urn, name = "", sub] = /^(?:(urn:.+):)?([A-Za-z$][\w$-]*)(?:\.([A-Za-z$][\w$-]*))?$/i.exec(text) ??
    [];
  const { core, extension } = type;
  const isExtension = urn !== undefined && extension !== null && isUrn(urn, extension.id);
  if (urn !== undefined && !isExtension && !isUrn(urn, core.id)) return undefined;
  const attribute = isExtension ? attributeOf(extension, name) : coreAttribute(type, name);
  const found = attribute && sub !== undefined ? subAttributeOf(attribute, sub) : null;
  return attribute && found !== undefined ? { isExtension, attribute, sub: found } : undefined;
}

/** A parser by recursive descent. */
class Parser {
  readonly #tokens: string[] = [];
  #next = 0;
  #parts = 0;

  constructor(
    private readonly text: string,
    private readonly fault: "invalidFilter" | "invalidPath",
    private resolve: (name: string) => Target | undefined,
  ) {
    TOKEN.lastIndex = 0;
    let end = 0;
    for (let token = TOKEN.exec(text); token; token = TOKEN.exec(text)) {
      this.#tokens.push(token[1] ?? "");
      end = TOKEN.lastIndex;
    }
    if (text.slice(end).trim() !== "") throw this.refused(`unexpected "${text.slice(end, end + 20)}"`);
  }

  filter(): Filter {
    let left = this.#conjunction();
    while (this.#takes("or")) left = { op: "or", left, right: this.#conjunction() };
    return left;
  }

  path(): Path {
    const target = this.#target();
    if (!this.#takes("[")) {
      this.end();
      return { target, filter: null };
    }
    const filter = this.#inner(target);
    const rest = this.#tokens[this.#next];
    if (rest === undefined) return { target, filter };
    this.#next++;
    this.end();
    const sub = rest.startsWith(".") ? subAttributeOf(target.attribute, rest.slice(1)) : undefined;
    if (!sub) throw this.refused(`${target.attribute.name} has no attribute "${rest}"`);
    return { target: { ...target, sub }, filter };
  }

  end(): void {
    const rest = this.#tokens[this.#next];
    if (rest !== undefined) throw this.refused(`unexpected "${rest}"`);
  }

  #conjunction(): Filter {
    let left = this.#condition();
    while (this.#takes("and")) left = { op: "and", left, right: this.#condition() };
    return left;
  }

  #condition(): Filter {
    if (++this.#parts > MAX_PARTS) throw this.refused(`expected at most ${MAX_PARTS} parts`);
    if (this.#takes("not")) return { op: "not", inner: this.#group() };
    if (this.#tokens[this.#next] === "(") return this.#group();
    const target = this.#target();
    if (this.#takes("[")) return { op: "some", target, inner: this.#inner(target) };
    const word = this.#take("an operator").toLowerCase();
    if (word === "pr") return { op: "pr", target };
    const op = COMPARISONS.find((each) => each === word);
    if (!op) throw this.refused(`expected one of ${COMPARISONS.join(", ")} or pr, found "${word}"`);
    return { op, target, value: this.#value(target) };
  }

  #group(): Filter {
    this.#expect("(");
    const inner = this.filter();
    this.#expect(")");
    return inner;
  }

  /** A filter in brackets, whose attributes are those of the attribute before it. */
  #inner({ attribute, sub, isExtension }: Target): Filter {
    if (sub || !attribute.multiValued || !attribute.subAttributes) {
      throw this.refused(`${attribute.name} takes no filter in brackets`);
    }
    const outer = this.resolve;
    this.resolve = (name) => {
      const sub = subAttributeOf(attribute, name);
      return sub && { isExtension, attribute, sub };
    };
    const inner = this.filter();
    this.resolve = outer;
    this.#expect("]");
    return inner;
  }

  #target(): Target {
    const name = this.#take("an attribute");
    const found = this.resolve(name);
    if (!found) throw this.refused(`there is no attribute "${name}"`);
    return found;
  }

  /** A JSON value. Microsoft Entra sends booleans as texts. */
  #value({ attribute, sub }: Target): Value {
    const token = this.#take("a value");
    const isBoolean = (sub ?? attribute).type === "boolean";
    const text = isBoolean ? token.replace(/^"(.*)"$/, "$1") : token;
    const plain = /^(true|false|null)$/i.test(text) ? text.toLowerCase() : text;
    try {
      const value: unknown = JSON.parse(plain);
      requireStorableText(value);
      if (value === null || typeof value === (isBoolean ? "boolean" : "string")) return value as Value;
    } catch {
      // refused below
    }
    throw this.refused(
      `expected a ${isBoolean ? "boolean" : "text in quotes"}, found ${token.slice(0, 100)}`,
    );
  }

  #takes(token: string): boolean {
    const isNext = this.#tokens[this.#next]?.toLowerCase() === token;
    if (isNext) this.#next++;
    return isNext;
  }

  #expect(token: string): void {
    if (!this.#takes(token)) throw this.refused(`expected "${token}"`);
  }

  #take(expected: string): string {
    const token = this.#tokens[this.#next++];
    if (token === undefined) throw this.refused(`expected ${expected} at the end`);
    return token;
  }

  refused(reason: string) {
    const what = this.fault === "invalidFilter" ? "filter" : "path";
    return scimProblem(this.fault, `The ${what} "${this.text.slice(0, 200)}" is invalid: ${reason}.`);
  }
}
