import type { TemplatePart } from "./errors.ts";
import { parseSource } from "./parse.ts";
import { Source } from "./source.ts";
import type { Program, Statement } from "./syntax.ts";

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
