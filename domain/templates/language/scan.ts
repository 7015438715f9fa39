import { type FilterUse, readPipes } from "./pipes.ts";
import type { Source } from "./source.ts";

/** One output tag (`{{ }}`, `{{{ }}}`, `{{& }}`) in document order. */
export interface OutputTag {
  offset: number;
  filters: FilterUse[];
}

/** A source without its filter chains. */
export interface Scan {
  /** The source with every filter chain overwritten by spaces; Handlebars parses it. */
  masked: string;
  /** The output tags with their filters. */
  tags: OutputTag[];
}

const MAX_NESTING = 50;
const MAX_CALL_DEPTH = 10;
/** The start of a tag. The alternatives have the same order as in Handlebars' lexer. */
const OPENING =
  /(?<raw>\{\{\{\{)|\{\{~?(?:(?<partialBlock>#>)|(?<partial>>)|(?<decorator>#?\*)|(?<block>#)|(?<end>\/)|(?<alternative>\^\s*~?\}\}|\s*else\s*~?\}\})|(?<inverse>\^)|(?<chain>\s*else\b)|(?<unescaped>\{)|(?<longComment>!--)|(?<comment>!)|&?)/y;
const CLOSE = /~?\}\}/y;
const CLOSE_UNESCAPED = /\}~?\}\}/y;
const COMMENT_END = /\}\}/g;
const LONG_COMMENT_END = /--~?\}\}/g;
const STRING = /"(?:\\"|[^"])*"|'(?:\\'|[^'])*'/y;
const SEGMENT = /\[(?:\\\]|[^\]])*\]/y;
const BLOCK_PARAMETERS = /as\s+\|[^|{}]*\|/y;
const ESCAPED_TAG_END = /(?:\\\\?)?\{\{|$/g;

/**
 * Finds the tags of a template where Handlebars' lexer would find them. It removes the filter chains and rejects
 * unsupported syntax before the parser sees it. Lengths and line breaks are kept, so positions in `masked` are positions
 * in the original source. Throws TemplateInvalid.
 */
export function scan(source: Source): Scan {
  const { text } = source;
  const tags: OutputTag[] = [];
  const nesting: number[] = [];
  let masked = "";
  let copied = 0;
  let contentFrom = 0;
  for (let open = text.indexOf("{{"); open !== -1; open = text.indexOf("{{", contentFrom)) {
    // A tag after one backslash is literal text up to the next tag. After two, it is a tag that follows a backslash.
    const content = text.slice(Math.max(contentFrom, open - 2), open);
    if (content.endsWith("\\") && content !== "\\\\") {
      contentFrom = search(ESCAPED_TAG_END, text, open + 2);
      continue;
    }
    const kind = openingAt(text, open);
    if (kind.name === "comment" || kind.name === "longComment") {
      contentFrom = commentEnd(source, open, kind.name === "comment" ? COMMENT_END : LONG_COMMENT_END);
      continue;
    }
    if (kind.name === "alternative") {
      contentFrom = kind.end;
      continue;
    }
    rejectUnsupported(source, open, kind.name);
    const isOutput = kind.name === "unescaped" || kind.name === "output";
    const close = kind.name === "unescaped" ? CLOSE_UNESCAPED : CLOSE;
    const tag: OutputTag = { offset: open, filters: [] };
    let at = expressionEnd(source, open, kind.end, close);
    if (text[at] === "|") {
      if (!isOutput) throw source.invalidAt(at, "filters are allowed in output tags only, not in blocks");
      const pipes = readPipes(source, at, close);
      masked += text.slice(copied, at) + text.slice(at, pipes.end).replace(/[^\r\n]/g, " ");
      copied = pipes.end;
      tag.filters = pipes.filters;
      at = pipes.end;
    }
    if (isOutput) tags.push(tag);
    trackNesting(source, open, kind.name, nesting);
    close.lastIndex = at;
    close.test(text);
    contentFrom = close.lastIndex;
  }
  return { masked: masked + text.slice(copied), tags };
}

type Kind =
  | "raw"
  | "partialBlock"
  | "partial"
  | "decorator"
  | "block"
  | "end"
  | "alternative"
  | "inverse"
  | "chain"
  | "unescaped"
  | "longComment"
  | "comment"
  | "output";

function openingAt(text: string, offset: number): { name: Kind; end: number } {
  OPENING.lastIndex = offset;
  const groups = OPENING.exec(text)?.groups ?? {};
  const name = Object.keys(groups).find((group) => groups[group] !== undefined) as Kind | undefined;
  return { name: name ?? "output", end: OPENING.lastIndex };
}

function commentEnd(source: Source, open: number, terminator: RegExp): number {
  // The comment `{{!--}}` is complete, because its opening dashes also close it.
  terminator.lastIndex = open + (source.text[open + 2] === "~" ? 4 : 3);
  if (!terminator.test(source.text)) {
    throw source.invalidAt(open, "the comment that starts here is not closed");
  }
  return terminator.lastIndex;
}

function rejectUnsupported(source: Source, open: number, kind: Kind): void {
  const unsupported: Partial<Record<Kind, string>> = {
    raw: "raw blocks (`{{{{ }}}}`) are not supported",
    partialBlock: "partial blocks (`{{#> }}`) are not supported",
    decorator: "decorators (`{{* }}`) are not supported",
  };
  const reason = unsupported[kind];
  if (reason !== undefined) throw source.invalidAt(open, reason);
}

/** The offset of the first `|` outside of strings and parentheses, or else of the closing braces. */
function expressionEnd(source: Source, open: number, from: number, close: RegExp): number {
  const { text } = source;
  let depth = 0;
  for (let at = from; at < text.length;) {
    close.lastIndex = at;
    if (close.test(text)) return at;
    const char = text[at];
    if (char === '"' || char === "'") {
      at = skip(STRING, text, at) ?? fail(source, at, "the string that starts here is not closed");
    } else if (char === "[") {
      at = skip(SEGMENT, text, at) ?? fail(source, at, "the `[` that starts here is not closed");
    } else if (char === "a" && /\s/.test(text[at - 1] ?? "")) {
      at = skip(BLOCK_PARAMETERS, text, at) ?? at + 1;
    } else if (char === "|") {
      if (depth > 0) fail(source, at, "filters are not allowed in parentheses; use a function such as date");
      return at;
    } else {
      if (char === "(" && ++depth > MAX_CALL_DEPTH) {
        fail(source, at, `parentheses may be nested at most ${MAX_CALL_DEPTH} levels deep`);
      }
      if (char === ")") depth--;
      at++;
    }
  }
  return fail(source, open, "the tag that starts here is not closed");
}

/** Limits the nesting of blocks and of `{{else if}}` chains, which nest too, so that recursion cannot overflow the stack. */
function trackNesting(source: Source, open: number, kind: Kind, nesting: number[]): void {
  if (kind === "block" || kind === "inverse") nesting.push(1);
  else if (kind === "end") nesting.pop();
  else if (kind === "chain") nesting.push((nesting.pop() ?? 0) + 1);
  else return;
  if (nesting.reduce((sum, depth) => sum + depth, 0) > MAX_NESTING) {
    throw source.invalidAt(
      open,
      `blocks may be nested at most ${MAX_NESTING} levels deep; \`{{else if}}\` counts as a level`,
    );
  }
}

function skip(pattern: RegExp, text: string, at: number): number | null {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : null;
}

function search(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? text.length;
}

function fail(source: Source, offset: number, reason: string): never {
  throw source.invalidAt(offset, reason);
}
