import Handlebars from "handlebars";
import { lowerBlock } from "./blocks.ts";
import { lowerExpression, type Names } from "./expressions.ts";
import { applyFilters } from "./filters/apply.ts";
import type { Source } from "./source.ts";
import type { OutputTag } from "./scan.ts";
import { type Emit, type Read, write } from "./scope.ts";
import type { OutputStatement, Program, Statement } from "./syntax.ts";
import { textOf } from "./values.ts";

/** The state of lowering (turning the syntax tree into closures): source, visible names and remaining output tags. */
export interface Lowering extends Names {
  source: Source;
  locale: string;
  /** True for the HTML part: output is escaped except in `{{{ }}}` and `{{& }}`. */
  isHtml: boolean;
  tags: Iterator<OutputTag>;
}

/** Turns a parsed template into closures that write its output. Visits statements in document order. */
export function lowerProgram(program: Program, lowering: Lowering): Emit {
  const emits = program.body.map((statement) => lowerStatement(statement, lowering))
    .filter((emit) => emit !== null);
  const [only] = emits;
  if (emits.length === 1 && only !== undefined) return only;
  return (run, scope) => {
    for (const emit of emits) emit(run, scope);
  };
}

function lowerStatement(statement: Statement, lowering: Lowering): Emit | null {
  switch (statement.type) {
    case "CommentStatement":
      return null;
    case "ContentStatement": {
      const { value } = statement;
      return value === "" ? null : (run) => {
        run.budget.charge(value.length);
        write(run, value);
      };
    }
    case "MustacheStatement":
      return lowerOutput(statement, lowering);
    case "BlockStatement":
      return lowerBlock(statement, lowering);
  }
}

function lowerOutput(statement: OutputStatement, lowering: Lowering): Emit {
  const { source } = lowering;
  const next = lowering.tags.next();
  const tag: OutputTag = next.done ? { offset: 0, filters: [] } : next.value;
  const name = statement.path.type === "PathExpression" ? statement.path.original : "a literal";
  if (next.done) throw source.invalidAt(0, `the position of the tag \`${name}\` could not be found`);
  if (statement.params.length > 0 || (statement.hash?.pairs.length ?? 0) > 0) {
    throw source.invalidAt(
      tag.offset,
      `\`${name}\` is not a helper: an output tag holds one variable and filters, as in {{ name | upper }}`,
    );
  }
  const read: Read = applyFilters(lowerExpression(statement.path, lowering), tag.filters, lowering);
  if (lowering.isHtml && statement.escaped) {
    return (run, scope) => write(run, Handlebars.escapeExpression(textOf(read(run, scope), run.budget)));
  }
  return (run, scope) => write(run, textOf(read(run, scope), run.budget));
}
