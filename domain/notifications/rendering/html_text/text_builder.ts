const MAX_INDENT = 12;

/**
 * Plain text under construction: collapses white space as HTML does, keeps at most one blank line between blocks
 * and begins every line with the indentation of the lists and quotes it stands in.
 */
export class TextBuilder {
  private readonly lines: string[] = [];
  private readonly indents: string[] = [];
  private line = "";
  /** Whether the line is empty or ends with a space; asking the line itself would copy it each time. */
  private isSpaced = true;
  /** Written once in place of the innermost indentation: a list item's mark. */
  private mark: string | null = null;
  private isBlankDue = false;
  private preformatted = 0;

  /** Running text; white space becomes one space, except inside `<pre>`. */
  words(text: string): void {
    if (this.preformatted > 0) {
      for (const [index, line] of text.split(/\r\n?|\n/).entries()) {
        if (index > 0) this.flush(true);
        this.line += line;
      }
      return;
    }
    const flat = text.replace(/[ \t\r\n\f]+/g, " ");
    const added = this.isSpaced ? flat.trimStart() : flat;
    if (added === "") return;
    this.line += added;
    this.isSpaced = added.endsWith(" ");
  }

  /** Ends the current line if it has begun. */
  lineBreak(isForced = false): void {
    this.flush(isForced);
  }

  /** Ends the paragraph: the next text is set off by one blank line. */
  blank(): void {
    this.flush(false);
    this.isBlankDue = true;
  }

  indent(by: string): void {
    this.flush(false);
    this.indents.push(by);
  }

  outdent(): void {
    this.flush(false);
    this.indents.pop();
  }

  /** Marks the next line as the beginning of a list item. */
  item(mark: string): void {
    this.flush(false);
    this.mark = mark;
  }

  /** Keeps white space as it is until the matching `plain(false)`. */
  plain(isOn: boolean): void {
    this.preformatted = Math.max(0, this.preformatted + (isOn ? 1 : -1));
  }

  toString(): string {
    this.flush(false);
    return this.lines.join("\n").trimEnd();
  }

  private flush(isForced: boolean): void {
    const text = this.preformatted > 0 ? this.line.trimEnd() : this.line.trim();
    this.line = "";
    this.isSpaced = true;
    if (text === "" && !isForced) return;
    if (this.isBlankDue && this.lines.length > 0) this.lines.push("");
    this.isBlankDue = false;
    const indents = this.indents.slice(0, MAX_INDENT);
    if (this.mark !== null) indents.pop();
    this.lines.push((indents.join("") + (this.mark ?? "") + text).trimEnd());
    this.mark = null;
  }
}
