import { decodeHTMLStrict } from "entities/decode";

/** A token of an HTML document that matters for plain text. */
export type HtmlToken =
  | { kind: "text"; text: string }
  | { kind: "open"; name: string; attribute(name: string): string | null }
  | { kind: "close"; name: string };

/** Elements whose content is not shown as text. The end of `head` may be left out, and its other elements are empty. */
const HIDDEN = new Set(["script", "style", "title", "template", "noscript", "svg", "object", "select"]);
const ATTRIBUTE = /([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?/g;

/** Splits HTML into tokens in one pass. What is not a tag is text. An unclosed tag or comment ends the document. */
export function* htmlTokens(html: string): Generator<HtmlToken> {
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf("<", at);
    const until = open === -1 ? html.length : open;
    if (until > at) yield { kind: "text", text: decodeHTMLStrict(html.slice(at, until)) };
    if (open === -1) return;
    if (html.startsWith("<!--", open)) {
      const end = html.indexOf("-->", open + 4);
      if (end === -1) return;
      at = end + 3;
      continue;
    }
    if (!/[A-Za-z/!?]/.test(html[open + 1] ?? "")) {
      yield { kind: "text", text: "<" };
      at = open + 1;
      continue;
    }
    const end = tagEnd(html, open);
    if (end === -1) return;
    const name = /^<\/?([A-Za-z][A-Za-z0-9:-]*)/.exec(html.slice(open, Math.min(end, open + 40)))?.[1]
      ?.toLowerCase();
    at = end + 1;
    if (name === undefined) continue;
    if (html[open + 1] === "/") yield { kind: "close", name };
    else if (HIDDEN.has(name) && html[end - 1] !== "/") at = afterElement(html, name, at);
    else yield openToken(name, html.slice(open + 1 + name.length, end));
  }
}

/** The offset of the `>` that ends a tag, skipping quoted attribute values. A quote that is not closed counts as text. */
function tagEnd(html: string, open: number): number {
  const delimiter = /["'>]/g;
  delimiter.lastIndex = open;
  for (let found = delimiter.exec(html); found !== null; found = delimiter.exec(html)) {
    if (found[0] === ">") return found.index;
    const closing = html.indexOf(found[0], found.index + 1);
    if (closing === -1) return html.indexOf(">", found.index);
    delimiter.lastIndex = closing + 1;
  }
  return -1;
}

function afterElement(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}(?=[\\s>/])[^>]*>`, "gi");
  end.lastIndex = from;
  return end.test(html) ? end.lastIndex : html.length;
}

function openToken(name: string, attributes: string): HtmlToken {
  return {
    kind: "open",
    name,
    attribute(wanted) {
      for (const [, found, double, single, bare] of attributes.matchAll(ATTRIBUTE)) {
        if (found?.toLowerCase() === wanted) return decodeHTMLStrict(double ?? single ?? bare ?? "");
      }
      return null;
    },
  };
}
