const page = /^(?:<!doctype html|<(?:html|head|body|title|style|script|iframe)(?=[\s>/]))/i;
const fragment = /^<(?:[a-z][\w-]*|!--)/i;
const activeMarkup = /<(?:script|iframe)[\s>/]|<html[\s>]|<!doctype\s+html|<\?php\s/i;
const skipped = /^(?:\s+|<!--[\s\S]*?-->|<\?xml(?:\s[\s\S]*?)?\?>)/i;
const documentType = /^<!doctype\s+([\w:.-]+)[^[>]*(?:\[[\s\S]*?\]\s*)?>/i;

/**
 * The markup type that the beginning of a text has, or null for other text: `text/html`, `application/xhtml+xml`, `image/svg+xml`
 * or `application/xml`, also behind comments and prologues. A text that only begins with a tag or comment, as many a
 * Markdown file does, is HTML only when there is a script, a frame or a page in that beginning too.
 */
export function markupType(opening: string): string | null {
  let rest = opening;
  const xml = /^\s*<\?xml[\s?]/.test(rest);
  for (let next = skipped.exec(rest); next; next = skipped.exec(rest)) rest = rest.slice(next[0].length);
  const root = documentType.exec(rest)?.[1]?.toLowerCase() ?? /^<([\w:.-]+)/.exec(rest)?.[1]?.toLowerCase();
  if (root === "svg" || root?.endsWith(":svg")) return "image/svg+xml";
  if (root === "html" && xml) return "application/xhtml+xml";
  if (page.test(rest)) return "text/html";
  if (xml) return "application/xml";
  return fragment.test(opening.trimStart()) && activeMarkup.test(opening) ? "text/html" : null;
}

const longestPattern = 32;

/**
 * Looks, chunk by chunk, for markup that a browser or a PHP server would run, anywhere in binary content.
 * An image has no honest use for it: one that carries it is meant to be taken for something else too.
 */
export class ActiveMarkupProbe {
  #found = false;
  #tail = "";
  readonly #decoder = new TextDecoder("latin1");

  get found(): boolean {
    return this.#found;
  }

  feed(bytes: Uint8Array): void {
    if (this.#found) return;
    const text = this.#tail + this.#decoder.decode(bytes);
    this.#found = activeMarkup.test(text);
    this.#tail = text.slice(-longestPattern);
  }
}
