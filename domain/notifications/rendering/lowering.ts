import type { Names } from "./expressions.ts";
import type { OutputTag } from "./scan.ts";
import type { Source } from "./source.ts";

/** The state of lowering (turning the syntax tree into closures): source, visible names and remaining output tags. */
export interface Lowering extends Names {
  source: Source;
  locale: string;
  /** True for the HTML part: output is escaped except in `{{{ }}}` and `{{& }}`. */
  isHtml: boolean;
  tags: Iterator<OutputTag>;
}
