import { Parser } from "htmlparser2";
import { ATTRIBUTES, CHILDREN, type ElementName, VOID_ELEMENTS } from "./markup_rules.ts";

/** An element of a document's markup. Attributes and nesting are checked. */
export interface MarkupElement {
  name: ElementName;
  attributes: Partial<Record<string, string>>;
  children: (MarkupElement | string)[];
}

/** An error in markup. `line` and `column` count from 1. */
export class MarkupInvalid extends Error {
  override readonly name = "MarkupInvalid";
  constructor(readonly line: number, readonly column: number, readonly reason: string) {
    super(`line ${line}, column ${column}: ${reason}`);
  }
}

/** Stands for a variable of a template while its markup is checked. Its value is unknown then. */
export const VARIABLE = "\u0001";
const MAX_DEPTH = 12;
const MAX_ELEMENTS = 60_000;

/** A text of markup: its position, and the element around it, or null outside of all elements. */
export interface TextPlace {
  at: number;
  length: number;
  around: ElementName | null;
}

/** Parses rendered markup. @param onText is called for each text @returns its `page` element @throws MarkupInvalid */
export function parseMarkup(markup: string, onText?: (place: TextPlace) => void): MarkupElement {
  const root = new TreeBuilder(markup, null, onText).build();
  if (root) return root;
  throw new MarkupInvalid(1, 1, "expected one <page> around the whole document, found no element");
}

/** Checks the markup of a partial inside an element; null: outside of the document. @throws MarkupInvalid */
export function parsePiece(
  markup: string,
  around: ElementName | null,
  onText: (place: TextPlace) => void,
): void {
  new TreeBuilder(markup, around, onText).build();
}

class TreeBuilder {
  #open: MarkupElement[];
  /** The offsets at which the open elements begin. */
  #starts: number[];
  #root: MarkupElement | null = null;
  #count = 0;

  constructor(
    private readonly markup: string,
    around: ElementName | null,
    private readonly onText: (place: TextPlace) => void = () => {},
  ) {
    this.#open = around === null ? [] : [{ name: around, attributes: {}, children: [] }];
    this.#starts = this.#open.map(() => -1);
  }

  build(): MarkupElement | null {
    const parser = new Parser({
      onopentag: (name, attributes, isImplied) =>
        this.#openElement(parser.startIndex, name, attributes, isImplied),
      onclosetag: (name, isImplied) => this.#close(parser.startIndex, name, isImplied),
      ontext: (text) => this.#text(parser.startIndex, text),
      onprocessinginstruction: () => {
        throw this.#mistake(parser.startIndex, "declarations and processing instructions are not supported");
      },
    }, { recognizeSelfClosing: true });
    parser.end(this.markup);
    return this.#root;
  }

  #openElement(at: number, name: string, attributes: Record<string, string>, isImplied: boolean): void {
    const parent = this.#open.at(-1);
    if (isImplied) throw this.#mistake(at, `</${name}> closes no element`);
    if (!Object.hasOwn(CHILDREN, name)) {
      throw this.#mistake(at, `the element <${name.slice(0, 40)}> is not supported; supported are ${NAMES}`);
    }
    const element: MarkupElement = { name: name as ElementName, attributes, children: [] };
    if (parent && !CHILDREN[parent.name].elements.includes(element.name)) {
      const allowed = CHILDREN[parent.name].elements.map((each) => `<${each}>`).join(", ") || "no elements";
      throw this.#mistake(at, `<${name}> may not stand in <${parent.name}>; that takes ${allowed}`);
    }
    if (!parent && name !== "page") throw this.#mistake(at, `<${name}> stands outside of <page>`);
    if (!parent && this.#root) throw this.#mistake(at, "a document has one <page>");
    if (this.#open.length >= MAX_DEPTH) {
      throw this.#mistake(at, `elements nest at most ${MAX_DEPTH} levels deep`);
    }
    if (++this.#count > MAX_ELEMENTS) {
      throw this.#mistake(at, `a document has at most ${MAX_ELEMENTS} elements`);
    }
    this.#checkAttributes(at, element);
    if (parent) parent.children.push(element);
    else this.#root = element;
    this.#open.push(element);
    this.#starts.push(at);
  }

  #checkAttributes(at: number, { name, attributes }: MarkupElement): void {
    const rules = ATTRIBUTES[name];
    for (const [attribute, value = ""] of Object.entries(attributes)) {
      if (attribute.includes(VARIABLE)) {
        throw this.#mistake(at, `variables of <${name}> may stand in the values of attributes only`);
      }
      const rule = Object.hasOwn(rules, attribute) ? rules[attribute] : undefined;
      if (!rule) {
        const known = Object.keys(rules).join(", ") || "none";
        throw this.#mistake(
          at,
          `<${name}> has no attribute "${attribute.slice(0, 40)}"; its attributes: ${known}`,
        );
      }
      if (value.includes(VARIABLE) || rule.fits(value)) continue;
      throw this.#mistake(at, `${attribute}="${value.slice(0, 40)}" of <${name}>: expected ${rule.expected}`);
    }
    for (const [attribute, rule] of Object.entries(rules)) {
      if (rule.isRequired && attributes[attribute] === undefined) {
        throw this.#mistake(at, `<${name}> needs the attribute "${attribute}": ${rule.expected}`);
      }
    }
  }

  #close(at: number, name: string, isImplied: boolean): void {
    const element = this.#open.pop();
    const isSelfClosed = this.#starts.pop() === at;
    if (isImplied && !isSelfClosed && !VOID_ELEMENTS.includes(name as ElementName)) {
      throw this.#mistake(Math.min(at, this.markup.length), `<${name}> is not closed before here`);
    }
    if (element && VOID_ELEMENTS.includes(element.name) && element.children.length > 0) {
      throw this.#mistake(at, `<${name}> has no content`);
    }
  }

  #text(at: number, text: string): void {
    const parent = this.#open.at(-1);
    this.onText({ at, length: text.length, around: parent?.name ?? null });
    if (parent && CHILDREN[parent.name].hasText) {
      const last = parent.children.at(-1);
      if (typeof last === "string") parent.children[parent.children.length - 1] = last + text;
      else parent.children.push(text);
      return;
    }
    if (text.replaceAll(VARIABLE, "").trim() === "") return;
    const place = parent ? `<${parent.name}>` : "a document outside of <page>";
    const start = at + (text.length - text.trimStart().length);
    throw this.#mistake(start, `text may not stand directly in ${place}; put it into a paragraph, <p>`);
  }

  #mistake(at: number, reason: string): MarkupInvalid {
    return mistakeAt(this.markup, at, reason);
  }
}

/** The mistake at a position, which counts from 0. */
export function mistakeAt(markup: string, at: number, reason: string): MarkupInvalid {
  const before = markup.slice(0, at).split(/\r\n?|\n/);
  return new MarkupInvalid(before.length, (before.at(-1) ?? "").length + 1, reason);
}

const NAMES = Object.keys(CHILDREN).map((name) => `<${name}>`).join(", ");
