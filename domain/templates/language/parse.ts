// Only the parser is imported: the rest of the package makes and runs code.
import { parse, parser } from "handlebars/dist/cjs/handlebars/compiler/base.js";
import type { TemplateInvalid, TemplatePart } from "./errors.ts";
import { type OutputTag, scan } from "./scan.ts";
import { Source } from "./source.ts";
import type { Program, Statement } from "./syntax.ts";

const MAX_SOURCE_LENGTH = 262_144;

/** State of Handlebars' parser after an error: the token where it stopped. */
interface ParserState {
  lexer?: { yylloc?: { first_line?: number; first_column?: number } };
}

/**
 * Parses a template without its filter chains. `tags` are the output tags with their filters, in document order, one per
 * output statement of the tree. Throws TemplateInvalid.
 */
export function parseSource(source: Source): { program: Program; tags: OutputTag[] } {
  if (source.text.length > MAX_SOURCE_LENGTH) {
    throw source.invalidAt(
      0,
      `it has ${source.text.length} characters; at most ${MAX_SOURCE_LENGTH} are allowed`,
    );
  }
  const { masked, tags } = scan(source);
  try {
    // The types fit, because `scan` rejects every statement that is not declared in syntax.ts.
    return { program: parse(masked), tags };
  } catch (error) {
    throw positioned(source, error as Error & { lineNumber?: number; column?: number });
  }
}

/** Converts an error of Handlebars' parser to a TemplateInvalid with its position. */
function positioned(
  source: Source,
  error: Error & { lineNumber?: number; column?: number },
): TemplateInvalid {
  if (error.lineNumber !== undefined && error.column !== undefined) {
    return source.invalidAtLine(error.lineNumber, error.column, error.message.replace(/ - \d+:\d+$/, ""));
  }
  const stopped = (parser as ParserState).lexer?.yylloc;
  const line = stopped?.first_line ?? 1;
  const column = stopped?.first_column ?? 0;
  const rest = (source.text.split(/\r\n?|\n/)[line - 1] ?? "").slice(column, column + 24);
  const isEnd = /got 'EOF'$/.test(error.message);
  return source.invalidAtLine(
    line,
    column,
    isEnd
      ? "the template ends although a block is still open"
      : `\`${rest}\` is not allowed here${/got 'CLOSE/.test(error.message) ? ": expected a variable" : ""}`,
  );
}

/** The partials and bodies that the sources of a template name. */
export interface Inspection {
  /** Slugs of the partials it names. */
  partials: string[];
  /** Parts with `{{{ body }}}` or `{{ body }}`. */
  withBody: TemplatePart[];
}

/** Finds the partials and bodies in the sources of a template. Throws TemplateInvalid. */
export function inspectTemplate(
  { subject, html, text }: { subject: string | null; html: string | null; text: string | null },
): Inspection {
  const partials = new Set<string>();
  const withBody: TemplatePart[] = [];
  for (const [part, source] of [["subject", subject], ["html", html], ["text", text]] as const) {
    if (source === null) continue;
    visit(parseSource(new Source(part, source)).program, (statement) => {
      if (statement.type === "PartialStatement" && statement.name.type === "PathExpression") {
        partials.add(statement.name.original);
      }
      const isBody = statement.type === "MustacheStatement" && statement.path.type === "PathExpression" &&
        statement.path.original === "body";
      if (isBody && !withBody.includes(part)) withBody.push(part);
    });
  }
  return { partials: [...partials], withBody };
}

function visit(program: Program | undefined, onStatement: (statement: Statement) => void): void {
  for (const statement of program?.body ?? []) {
    onStatement(statement);
    if (statement.type !== "BlockStatement") continue;
    visit(statement.program, onStatement);
    visit(statement.inverse, onStatement);
  }
}
