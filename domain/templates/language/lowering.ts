import type { ExpressionContext } from "./expressions.ts";
import type { OutputTag } from "./scan.ts";
import type { Emit } from "./scope.ts";

/** The texts of a layout or partial, and its texts by key in the language of the render. */
export interface PartSource {
  html: string | null;
  text: string | null;
  texts: Readonly<Record<string, string>>;
}

/** A partial compiled for one part, and its number of nested levels of partials, itself included. */
export interface CompiledPartial {
  emit: Emit;
  levels: number;
}

/** Maximum nesting of partials. */
export const MAX_PARTIAL_DEPTH = 5;

/** The partials of a template, and which of them are being compiled. */
export interface Partials {
  /** By slug. */
  sources: Readonly<Record<string, PartSource>>;
  /** Partials that are already compiled for this part, by slug. */
  compiled: Map<string, CompiledPartial>;
  /** Slugs of the surrounding partials, outermost first. */
  path: readonly string[];
  /** Number of nested levels of partials found so far. */
  levels: number;
}

/** The state of lowering (turning the syntax tree into closures): source, visible names and remaining output tags. */
export interface Lowering extends ExpressionContext {
  /** True for the HTML part: output is escaped except in `{{{ }}}` and `{{& }}`. */
  isHtml: boolean;
  tags: Iterator<OutputTag>;
  partials: Partials;
  /** Writes the `{{{ body }}}` of a layout; null if the part is not of a layout. */
  body: Emit | null;
}
