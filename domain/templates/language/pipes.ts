import type { Source } from "./source.ts";

/** A filter argument: a literal, or a dotted path that is read from the data at render time. */
export type FilterArgument = { kind: "literal"; value: unknown } | { kind: "path"; parts: string[] };

/** One filter of a tag, `| name:argument:argument`. `offset` is the position of its name. */
export interface FilterUse {
  name: string;
  args: FilterArgument[];
  offset: number;
}

const SPACE = /\s*/y;
const NAME = /[A-Za-z][A-Za-z0-9_-]*/y;
const STRING = /"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'/y;
const NUMBER = /-?\d+(?:\.\d+)?(?![\w.])/y;
const PATH = /[A-Za-z_$][\w$]*(?:\.[\w$]+)*/y;
const CONSTANTS = new Map<string, unknown>([["true", true], ["false", false], ["null", null]]);
const MAX_FILTERS = 16;

/**
 * Parses the filter chain of one output tag. `start` is the offset of the first `|`, `close` a sticky regular expression
 * for the closing braces. @returns the filters and the offset of the closing braces. Throws TemplateInvalid.
 */
export function readPipes(
  source: Source,
  start: number,
  close: RegExp,
): { filters: FilterUse[]; end: number } {
  const { text } = source;
  let at = start;
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null) return null;
    at = pattern.lastIndex;
    return found[0];
  };
  const argument = (): FilterArgument => {
    const quoted = take(STRING);
    if (quoted !== null) return { kind: "literal", value: quoted.slice(1, -1).replace(/\\([\s\S])/g, "$1") };
    const number = take(NUMBER);
    if (number !== null) return { kind: "literal", value: Number(number) };
    const path = take(PATH);
    if (path === null) {
      throw source.invalidAt(
        at,
        `expected a "string", a number or a variable after \`:\`, found ${source.excerpt(at)}`,
      );
    }
    return CONSTANTS.has(path)
      ? { kind: "literal", value: CONSTANTS.get(path) }
      : { kind: "path", parts: path.split(".") };
  };

  const filters: FilterUse[] = [];
  while (true) {
    take(SPACE);
    close.lastIndex = at;
    if (close.test(text)) return { filters, end: at };
    if (text[at] !== "|") {
      const expected = filters.length === 0 ? "`|`" : "`|`, `:` or the closing braces";
      throw source.invalidAt(at, `expected ${expected} after the filter, found ${source.excerpt(at)}`);
    }
    at++;
    take(SPACE);
    const offset = at;
    const name = take(NAME);
    if (name === null) {
      throw source.invalidAt(at, `expected a filter name after \`|\`, found ${source.excerpt(at)}`);
    }
    if (filters.length === MAX_FILTERS) {
      throw source.invalidAt(offset, `a tag may have at most ${MAX_FILTERS} filters`);
    }
    const args: FilterArgument[] = [];
    for (take(SPACE); text[at] === ":"; take(SPACE)) {
      at++;
      take(SPACE);
      args.push(argument());
    }
    filters.push({ name, args, offset });
  }
}
