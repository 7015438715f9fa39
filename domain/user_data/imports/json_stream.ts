import { MAX_RECORD } from "./csv_stream.ts";
import { ImportMistake } from "./import_mistake.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);
const BLANK = new Set([0x20, 0x09, 0x0a, 0x0d]);

/**
 * Splits a JSON array that arrives in pieces into the texts of its elements. Only brackets, quotes and commas are looked
 * at: an element that is no valid JSON fails when it is parsed.
 * @throws ImportMistake if the text is not one array, or an element is too long
 */
export class JsonArraySplitter {
  #text = "";
  #at = 0;
  /** Start of the current element; -1 between elements. */
  #start = -1;
  #depth = 0;
  #inString = false;
  #isEscaped = false;

  /** The elements that are complete after this piece. */
  feed(piece: string): string[] {
    this.#text += piece;
    const elements: string[] = [];
    for (; this.#at < this.#text.length; this.#at++) this.#step(this.#text.charCodeAt(this.#at), elements);
    const kept = this.#start < 0 ? this.#at : this.#start;
    this.#text = this.#text.slice(kept);
    this.#at -= kept;
    if (this.#start >= 0) this.#start = 0;
    if (this.#text.length > MAX_RECORD) {
      throw new ImportMistake(`an element of the array is longer than ${MAX_RECORD} characters`);
    }
    return elements;
  }

  /** Checks that the array was closed. */
  end(): void {
    if (!this.#isClosed) throw new ImportMistake("the JSON array has no end");
  }

  #isOpen = false;
  #isClosed = false;

  #step(code: number, elements: string[]): void {
    if (this.#inString) return this.#stepInString(code);
    if (BLANK.has(code)) return;
    if (!this.#isOpen) {
      if (code !== 0x5b) throw new ImportMistake("expected a JSON array of objects");
      this.#isOpen = true;
      return;
    }
    if (this.#isClosed) throw new ImportMistake("there is text after the JSON array");
    if (this.#depth === 0 && (code === COMMA || CLOSING.has(code))) {
      if (this.#start >= 0) elements.push(this.#text.slice(this.#start, this.#at));
      this.#start = -1;
      this.#isClosed = code !== COMMA;
      return;
    }
    if (this.#start < 0) this.#start = this.#at;
    if (code === QUOTE) this.#inString = true;
    else if (OPENING.has(code)) this.#depth++;
    else if (CLOSING.has(code)) this.#depth--;
  }

  #stepInString(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === BACKSLASH) this.#isEscaped = true;
    else if (code === QUOTE) this.#inString = false;
  }
}
