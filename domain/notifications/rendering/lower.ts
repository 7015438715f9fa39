import Handlebars from "handlebars";
import { condition, each, withBlock } from "./blocks.ts";
import { lowerExpression } from "./expressions.ts";
import { applyFilters } from "./filters/apply.ts";
import type { Lowering } from "./lowering.ts";
import type { OutputTag } from "./scan.ts";
import { type Emit, type Read, write } from "./scope.ts";
import type { BlockStatement, OutputStatement, Program, Statement } from "./syntax.ts";
import { textOf } from "./values.ts";

const NOTHING: Emit = () => {};

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

/** Turns an `if`, `unless`, `each` or `with` block into a closure. Throws TemplateInvalid for other blocks. */
function lowerBlock(block: BlockStatement, lowering: Lowering): Emit {
  const name = block.path.type === "PathExpression" ? block.path.original : "";
  const [subject, ...surplus] = block.params;
  const invalid = (reason: string) => {
    const { line, column } = block.loc.start;
    return lowering.source.invalidAtLine(line, column, reason);
  };
  if (!["if", "unless", "each", "with"].includes(name)) {
    throw invalid(`\`${name}\` is not a block; the blocks are if, unless, each and with`);
  }
  if (subject === undefined || surplus.length > 0) {
    throw invalid(`\`${name}\` takes one value, found ${block.params.length}`);
  }
  const isCondition = name === "if" || name === "unless";
  const option = block.hash?.pairs.find((pair) => !isCondition || pair.key !== "includeZero");
  if (option !== undefined) throw invalid(`\`${name}\` has no option \`${option.key}\``);
  const includeZero = block.hash?.pairs[0]?.value;

  const read = lowerExpression(subject, lowering);
  const names = block.program?.blockParams ?? [];
  if (isCondition && names.length > 0) throw invalid(`\`${name}\` does not support \`as |…|\``);
  const inside = isCondition ? lowering : { ...lowering, parameters: [names, ...lowering.parameters] };
  // The else branch runs in the scope around the block. In `{{^if x}}` it comes first in the document.
  const early = startsBefore(block.inverse, block.program) ? lowerOptional(block.inverse, lowering) : null;
  const body = lowerOptional(block.program, inside);
  const otherwise = early ?? lowerOptional(block.inverse, lowering);

  if (isCondition) {
    const zero = includeZero === undefined ? null : lowerExpression(includeZero, lowering);
    const [whenTrue, whenFalse] = name === "if" ? [body, otherwise] : [otherwise, body];
    return condition(read, zero, whenTrue, whenFalse);
  }
  return name === "each" ? each(read, body, otherwise) : withBlock(read, body, otherwise);
}

function lowerOptional(program: Program | undefined, lowering: Lowering): Emit {
  return program === undefined ? NOTHING : lowerProgram(program, lowering);
}

/** True if `one` starts before `other`. Programs without a position are empty, so their order does not matter. */
function startsBefore(one: Program | undefined, other: Program | undefined): boolean {
  const [a, b] = [one?.loc?.start, other?.loc?.start];
  return a !== undefined && b !== undefined &&
    (a.line < b.line || (a.line === b.line && a.column < b.column));
}
