import { lowerExpression } from "./expressions.ts";
import { TemplateInvalid } from "./errors.ts";
import type { CompiledPartial, Lowering, PartSource } from "./lowering.ts";
import { parseSource } from "./parse.ts";
import { type Emit, rootScope } from "./scope.ts";
import { Source } from "./source.ts";
import type { PartialStatement, Program } from "./syntax.ts";

/** `lowerProgram` of lower.ts, which calls this module. */
type LowerProgram = (program: Program, lowering: Lowering) => Emit;

/** Maximum nesting of partials. */
export const MAX_PARTIAL_DEPTH = 5;

/**
 * Turns `{{> slug value name=value}}` into a closure. The context of the partial is the given value, or the context of the
 * tag if there is none, with the named values added. It has no `../`. Each partial is compiled once per part. Throws
 * TemplateInvalid.
 */
export function lowerPartial(
  statement: PartialStatement,
  lowering: Lowering,
  lowerProgram: LowerProgram,
): Emit {
  const { line, column } = statement.loc.start;
  const invalid = (reason: string) => lowering.source.invalidAtLine(line, column, reason);
  const slug = statement.name.type === "PathExpression" ? statement.name.original : null;
  if (slug === null) throw invalid("expected the slug of a partial, as in {{> address}}");
  const [subject, ...surplus] = statement.params;
  if (surplus.length > 0) throw invalid(`the partial \`${slug}\` takes at most one value`);
  const { emit } = compilePartial(slug, lowering, invalid, lowerProgram);
  const read = subject && lowerExpression(subject, lowering);
  const named = (statement.hash?.pairs ?? []).map(({ key, value }) =>
    [key, lowerExpression(value, lowering)] as const
  );
  return (run, scope) => {
    run.budget.charge(0);
    const around = read ? read(run, scope) : scope.context;
    if (named.length === 0) return emit(run, rootScope(around));
    const members = typeof around === "object" && around !== null ? Object.entries(around) : [];
    run.budget.charge(members.length * 32);
    const added = named.map(([key, value]) => [key, value(run, scope)]);
    emit(run, rootScope(Object.fromEntries([...members, ...added])));
  };
}

function compilePartial(
  slug: string,
  lowering: Lowering,
  invalid: (reason: string) => TemplateInvalid,
  lowerProgram: LowerProgram,
): CompiledPartial {
  const { path, compiled } = lowering.partials;
  if (path.includes(slug)) {
    throw invalid(`the partial \`${slug}\` contains itself: ${[...path, slug].join(" → ")}`);
  }
  const known = compiled.get(slug) ?? compile(slug, lowering, invalid, lowerProgram);
  compiled.set(slug, known);
  if (path.length + known.levels > MAX_PARTIAL_DEPTH) {
    throw invalid(`partials may contain partials at most ${MAX_PARTIAL_DEPTH} levels deep`);
  }
  lowering.partials.levels = Math.max(lowering.partials.levels, known.levels);
  return known;
}

function compile(
  slug: string,
  lowering: Lowering,
  invalid: (reason: string) => TemplateInvalid,
  lowerProgram: LowerProgram,
): CompiledPartial {
  const { sources, path, compiled } = lowering.partials;
  if (path.length >= MAX_PARTIAL_DEPTH) {
    throw invalid(`partials may contain partials at most ${MAX_PARTIAL_DEPTH} levels deep`);
  }
  const part: PartSource | undefined = Object.hasOwn(sources, slug) ? sources[slug] : undefined;
  if (!part) throw invalid(`there is no partial \`${slug}\``);
  const text = lowering.isHtml ? part.html : part.text;
  if (text === null) {
    throw invalid(`the partial \`${slug}\` has no ${lowering.isHtml ? "HTML" : "text"} body`);
  }
  const source = new Source(lowering.source.part, text);
  const partials = { sources, compiled, path: [...path, slug], levels: 0 };
  try {
    const { program, tags } = parseSource(source);
    const emit = lowerProgram(program, {
      source,
      partials,
      locale: lowering.locale,
      texts: part.texts,
      parameters: [],
      isHtml: lowering.isHtml,
      tags: tags.values(),
      body: null,
    });
    return { emit, levels: 1 + partials.levels };
  } catch (error) {
    if (!(error instanceof TemplateInvalid)) throw error;
    throw invalid(`in the partial \`${slug}\`, line ${error.line}, column ${error.column}: ${error.reason}`);
  }
}
