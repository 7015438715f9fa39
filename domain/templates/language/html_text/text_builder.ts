const MAX_INDENT = 12;

/**
 * Builds plain text. It collapses white space as HTML does, keeps at most one blank line between blocks, and indents
 * every line for the lists and quotes around it.
 */
export class TextBuilder {
  private readonly lines: string[] = [];
  private readonly indents: string[] = [];
  private line = "";
  /** True if the line is empty or ends with a space. Testing the string each time would flatten (copy) it. */
  private isSpaced = true;
  /** The marker of a list item, such as `- `. It replaces the innermost indentation of the item's first line. */
  private marker: string | null = null;
  private isBlankLineDue = false;
  private preformatted = 0;

  /** Appends text. White space becomes one space, except inside `<pre>`. */
  append(text: string): void {
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

  /** Ends the current line if it is not empty. @param isForced also if it is empty */
  lineBreak(isForced = false): void {
    this.flush(isForced);
  }

  /** Ends the paragraph: one blank line precedes the next text. */
  paragraphBreak(): void {
    this.flush(false);
    this.isBlankLineDue = true;
  }

  indent(by: string): void {
    this.flush(false);
    this.indents.push(by);
  }

  outdent(): void {
    this.flush(false);
    this.indents.pop();
  }

  /** Starts a list item with its marker. */
  item(marker: string): void {
    this.flush(false);
    this.marker = marker;
  }

  /** Keeps white space unchanged until the matching `preformat(false)`. */
  preformat(isOn: boolean): void {
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
    if (this.isBlankLineDue && this.lines.length > 0) this.lines.push("");
    this.isBlankLineDue = false;
    const indents = this.indents.slice(0, MAX_INDENT);
    if (this.marker !== null) indents.pop();
    this.lines.push((indents.join("") + (this.marker ?? "") + text).trimEnd());
    this.marker = null;
  }
}
