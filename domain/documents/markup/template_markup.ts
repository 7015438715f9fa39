import { MarkupInvalid, mistakeAt, parseMarkup, parsePiece, type TextPlace, VARIABLE } from "./markup.ts";
import type { ElementName } from "./markup_rules.ts";

/** Maximum length of the partials of one template together. Checking them blocks other requests, here for about 100 ms. */
const MAX_CHARACTERS = 262_144;
const TAGS = [{ open: "{{!--", close: "--}}" }, { open: "{{{", close: "}}}" }, { open: "{{", close: "}}" }];
const PARTIAL = /^\{\{~?>\s*([^\s~}]+)/;

/** The tag `{{> slug}}` of a template. */
interface PartialTag {
  at: number;
  slug: string;
}

/**
 * Checks the markup of a template that is not rendered: elements, attributes and nesting. A partial is checked in each kind
 * of element that it stands in. Values of attributes with variables or partials are checked when the template is rendered.
 * @param partials their bodies by slug
 * @throws MarkupInvalid
 */
export function checkTemplateMarkup(template: string, partials: Readonly<Record<string, string>> = {}): void {
  new TemplateCheck(partials).checkTemplate(template);
}

class TemplateCheck {
  /** Partials with the element around them. */
  readonly #checked = new Set<string>();
  #characters = 0;

  constructor(private readonly partials: Readonly<Record<string, string>>) {}

  checkTemplate(template: string): void {
    const { markup, tags } = withoutTags(template);
    parseMarkup(markup, this.#partialsIn(template, tags));
  }

  /** Checks the partials of each text. The texts come in the order of their positions. */
  #partialsIn(source: string, tags: PartialTag[]): (place: TextPlace) => void {
    let next = 0;
    return ({ at, length, around }) => {
      for (let tag = tags[next]; tag && tag.at < at + length; tag = tags[++next]) {
        if (tag.at >= at) this.#checkPartial(source, tag, around);
      }
    };
  }

  #checkPartial(source: string, { at, slug }: PartialTag, around: ElementName | null): void {
    const body = Object.hasOwn(this.partials, slug) ? this.partials[slug] : undefined;
    const key = `${slug} ${around}`;
    if (body === undefined || this.#checked.has(key)) return;
    this.#checked.add(key);
    this.#characters += body.length;
    if (this.#characters > MAX_CHARACTERS) {
      throw mistakeAt(source, at, `the partials have more than ${MAX_CHARACTERS} characters`);
    }
    try {
      const { markup, tags } = withoutTags(body);
      parsePiece(markup, around, this.#partialsIn(body, tags));
    } catch (error) {
      if (!(error instanceof MarkupInvalid)) throw error;
      throw mistakeAt(source, at, `in the partial \`${slug}\`, ${error.message}`);
    }
  }
}

/**
 * Replaces the tags of Handlebars by characters that stand for a variable, and finds the tags of partials. It is a loop
 * and not one regular expression, because that would take quadratic time for tags that are never closed.
 */
function withoutTags(template: string): { markup: string; tags: PartialTag[] } {
  const kinds = TAGS.map((kind) => ({ ...kind, last: template.lastIndexOf(kind.close) }));
  const tags: PartialTag[] = [];
  let written = "";
  let copied = 0;
  for (let at = template.indexOf("{{"); at !== -1;) {
    const kind = kinds.find(({ open, last }) => template.startsWith(open, at) && last >= at + open.length);
    if (!kind) {
      at = template.indexOf("{{", at + 1);
      continue;
    }
    const end = template.indexOf(kind.close, at + kind.open.length) + kind.close.length;
    const tag = template.slice(at, end);
    const [, slug] = PARTIAL.exec(tag) ?? [];
    if (slug !== undefined) tags.push({ at, slug });
    written += template.slice(copied, at) + tag.replaceAll(/[^\r\n]/g, VARIABLE);
    copied = end;
    at = template.indexOf("{{", end);
  }
  return { markup: written + template.slice(copied), tags };
}
