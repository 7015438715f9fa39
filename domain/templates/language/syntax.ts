/** The parts of Handlebars' syntax tree that templates use. Columns count from 0. */
export interface Located {
  loc: { start: { line: number; column: number } };
}
export interface PathExpression extends Located {
  type: "PathExpression";
  /** True for `@index`, `@root` and the like. */
  data: boolean;
  /** The number of `../` at its start. */
  depth: number;
  parts: string[];
  original: string;
}
export interface Literal extends Located {
  type: "StringLiteral" | "NumberLiteral" | "BooleanLiteral" | "NullLiteral" | "UndefinedLiteral";
  value?: string | number | boolean;
}
/** The call of a function: in an output tag, at the start of a block, or in parentheses. */
export interface Call extends Located {
  path: Expression;
  params: Expression[];
  hash?: Hash;
}
/** A call in parentheses. */
export interface SubExpression extends Call {
  type: "SubExpression";
}
export type Expression = PathExpression | SubExpression | Literal;
export interface Hash extends Located {
  pairs: ({ key: string; value: Expression } & Located)[];
}
export interface Program extends Partial<Located> {
  body: Statement[];
  blockParams?: string[];
}
export interface OutputStatement extends Call {
  type: "MustacheStatement";
  /** False for `{{{ }}}` and `{{& }}`. */
  escaped: boolean;
}
export interface BlockStatement extends Call {
  type: "BlockStatement";
  program?: Program;
  inverse?: Program;
}
export interface PartialStatement extends Omit<Call, "path"> {
  type: "PartialStatement";
  name: Expression;
}
export type Statement =
  | PartialStatement
  | OutputStatement
  | BlockStatement
  | { type: "ContentStatement"; value: string }
  | { type: "CommentStatement" };
