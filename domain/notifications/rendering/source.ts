import { TemplateInvalid, type TemplatePart } from "./errors.ts";

/** One source text under compilation; turns offsets into the lines and columns that error messages carry. */
export class Source {
  constructor(readonly part: TemplatePart, readonly text: string) {}

  /** The typed error for what is wrong at `offset` (0-based, into the text as the author wrote it). */
  invalidAt(offset: number, reason: string): TemplateInvalid {
    const before = this.text.slice(0, offset).split(/\r\n?|\n/);
    return new TemplateInvalid(this.part, before.length, (before.at(-1) ?? "").length + 1, reason);
  }

  /** The same for a position that Handlebars reports: line from 1, column from 0. */
  invalidAtLine(line: number, column: number, reason: string): TemplateInvalid {
    return new TemplateInvalid(this.part, line, column + 1, reason);
  }

  /** What stands at `offset`, short enough to be quoted in a message. */
  excerpt(offset: number): string {
    const rest = this.text.slice(offset, offset + 24).split(/\r|\n/)[0] ?? "";
    return rest === "" ? "the end of the line" : `\`${rest}\``;
  }
}
