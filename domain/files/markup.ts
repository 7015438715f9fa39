const page = /^(?:<!doctype html|<(?:html|head|body|title|style|script|iframe)(?=[\s>/]))/i;
const fragment = /^<(?:[a-z][\w-]*|!--)/i;
const activeMarkup = /<(?:script|iframe)[\s>/]|<html[\s>]|<!doctype\s+html|<\?php\s/i;
const skipped = /^(?:\s+|<!--[\s\S]*?-->|<\?xml(?:\s[\s\S]*?)?\?>)/i;
const documentType = /^<!doctype\s+([\w:.-]+)[^[>]*(?:\[[\s\S]*?\]\s*)?>/i;

/**
 * The markup type of a text, judged by its beginning: `text/html`, `application/xhtml+xml`, `image/svg+xml` or
 * `application/xml`; null for other text. Leading comments and XML prologues are skipped. Many Markdown files begin
 * with a tag or a comment, so such a text counts as HTML only if its beginning also has a script, an iframe or a page.
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
 * Searches binary content, chunk by chunk, for markup that a browser or a PHP server would run. A genuine image has no
 * use for such markup; an image that contains it is probably a polyglot.
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
