import { TemplateInvalid, type TemplatePart } from "./errors.ts";

/** A source text that is being compiled. It converts offsets to the line and column of error messages. */
export class Source {
  constructor(readonly part: TemplatePart, readonly text: string) {}

  /** The error at `offset`, which counts from 0 in the original text. */
  invalidAt(offset: number, reason: string): TemplateInvalid {
    const before = this.text.slice(0, offset).split(/\r\n?|\n/);
    return new TemplateInvalid(this.part, before.length, (before.at(-1) ?? "").length + 1, reason);
  }

  /** The error at a position as Handlebars reports it: `line` counts from 1, `column` from 0. */
  invalidAtLine(line: number, column: number, reason: string): TemplateInvalid {
    return new TemplateInvalid(this.part, line, column + 1, reason);
  }

  /** A short quote of the text at `offset`, for an error message. */
  excerpt(offset: number): string {
    const rest = this.text.slice(offset, offset + 24).split(/\r|\n/)[0] ?? "";
    return rest === "" ? "the end of the line" : `\`${rest}\``;
  }
}
