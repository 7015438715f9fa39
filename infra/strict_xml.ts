/** The part of a DOM that the service reads. The parser's types would add the globals of a browser everywhere. */
export interface XmlElement {
  readonly nodeType: number;
  readonly namespaceURI: string | null;
  readonly localName: string;
  readonly parentNode: XmlElement | null;
  readonly childNodes: ArrayLike<XmlElement>;
  readonly attributes: ArrayLike<{ prefix: string | null; localName: string; value: string }>;
  readonly textContent: string | null;
  /** Empty if there is none. */
  getAttribute(name: string): string | null;
  cloneNode(isDeep: boolean): XmlElement;
  removeChild(child: XmlElement): void;
}

/** Thrown when XML from outside is not as expected. The text contains no secrets and may be shown. */
export class XmlRefused extends Error {
  override name = "XmlRefused";
  constructor(expected: string, found: string) {
    super(`expected ${expected}; found ${found.slice(0, 300).toWellFormed().replaceAll(/\p{Cc}/gu, " ")}`);
  }
}

/** The parser's time grows with the square of these numbers: 128 KiB of nested elements take minutes. */
const MAX_CHARACTERS = 128 * 1024;
const MAX_ELEMENTS = 2000;
const MAX_DEPTH = 32;

const NAME = "[A-Za-z_][\\w.-]*(?::[A-Za-z_][\\w.-]*)?";
const REFERENCE = "&(?:lt|gt|amp|quot|apos|#\\d{1,7}|#x[\\da-fA-F]{1,6});";
const quoted = (quote: string) => `${quote}[^${quote}<&]*(?:${REFERENCE}[^${quote}<&]*)*${quote}`;
const ATTRIBUTE = `\\s+${NAME}\\s*=\\s*(?:${quoted('"')}|${quoted("'")})`;
const TOKEN = new RegExp(`<(/?)(${NAME})(?:${ATTRIBUTE}){0,32}\\s*(/?)>|[^<&]+|${REFERENCE}`, "y");

/**
 * Parses a small, well-formed document of elements and text: without DOCTYPE, entities, comments, CDATA sections and
 * processing instructions. A linear check comes first, because the parser is lenient, and slow with hostile documents. It is
 * the parser that the library makes canonical forms with.
 * @returns the root element @throws XmlRefused
 */
export async function parseStrictXml(xml: string): Promise<XmlElement> {
  if (xml.length > MAX_CHARACTERS) {
    throw new XmlRefused(`at most ${MAX_CHARACTERS} characters`, `${xml.length}`);
  }
  const open: string[] = [];
  let elements = 0;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < xml.length) {
    const start = TOKEN.lastIndex;
    const [token, closes, name, isEmpty] = TOKEN.exec(xml) ?? [];
    const isInPlace = (start === 0) === (open.length === 0) && (!closes || open.pop() === name);
    if (token === undefined || !isInPlace) {
      throw new XmlRefused(
        "one balanced XML element without DOCTYPE, comments and CDATA",
        `"${xml.slice(start, start + 40)}" at ${start}`,
      );
    }
    if (name && !closes) elements++;
    if (name && !closes && !isEmpty) open.push(name);
    if (elements > MAX_ELEMENTS || open.length > MAX_DEPTH) {
      throw new XmlRefused(`at most ${MAX_ELEMENTS} elements, at most ${MAX_DEPTH} deep`, "more");
    }
  }
  if (elements === 0 || open.length > 0) throw new XmlRefused("a complete XML element", "a part of one");
  const { parseDomFromString } = await import("@node-saml/node-saml/lib/xml.js");
  try {
    return (await parseDomFromString(xml)).documentElement;
  } catch {
    throw new XmlRefused("an XML document", "a text that the parser refuses");
  }
}

/** The element and all elements below it, in the order of the document. */
export const elementsOf = (root: XmlElement): XmlElement[] => [
  root,
  ...Array.from(root.childNodes).filter(({ nodeType }) => nodeType === 1).flatMap(elementsOf),
];

export const isNamed = (e: XmlElement, namespace: string, name: string): boolean =>
  e.nodeType === 1 && e.namespaceURI === namespace && e.localName === name;

export const childrenOf = (parent: XmlElement, namespace: string, name: string): XmlElement[] =>
  Array.from(parent.childNodes).filter((e) => isNamed(e, namespace, name));

/** The only one of the elements. @throws XmlRefused */
export function only(elements: XmlElement[], name: string): XmlElement {
  const [first] = elements;
  if (first && elements.length === 1) return first;
  throw new XmlRefused(`one ${name}`, `${elements.length}`);
}

export const textOf = (e: XmlElement): string => (e.textContent ?? "").toWellFormed().trim();
