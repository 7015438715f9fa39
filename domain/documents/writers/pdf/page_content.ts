import type { PdfFile } from "./pdf_file.ts";

/** The operators of one page, as bytes. Coordinates are points; y counts from the bottom of the page. */
export class PageContent {
  #bytes = new Uint8Array(64 * 1024);
  #length = 0;

  /** Removes and returns the bytes, valid until the next operator. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    return taken;
  }

  /** Adds operators or operands in PDF syntax, ASCII only. */
  add(text: string): void {
    this.#need(text.length);
    for (let i = 0; i < text.length; i++) this.#bytes[this.#length++] = text.charCodeAt(i);
  }

  /** Adds an integer that counts hundredths, and a space. It is written as a decimal number. */
  addHundredths(hundredths: number): void {
    this.#need(16);
    let rest = hundredths;
    if (rest < 0) {
      this.#bytes[this.#length++] = MINUS;
      rest = -rest;
    }
    const whole = Math.trunc(rest / 100);
    const part = rest - whole * 100;
    this.#addDigits(whole);
    if (part > 0) {
      this.#bytes[this.#length++] = POINT;
      this.#bytes[this.#length++] = ZERO + Math.trunc(part / 10);
      if (part % 10 > 0) this.#bytes[this.#length++] = ZERO + part % 10;
    }
    this.#bytes[this.#length++] = SPACE;
  }

  /** Adds a glyph number as four hexadecimal digits. */
  addGlyph(glyph: number): void {
    this.#need(4);
    const bytes = this.#bytes;
    bytes[this.#length++] = HEX.charCodeAt(glyph >> 12 & 15);
    bytes[this.#length++] = HEX.charCodeAt(glyph >> 8 & 15);
    bytes[this.#length++] = HEX.charCodeAt(glyph >> 4 & 15);
    bytes[this.#length++] = HEX.charCodeAt(glyph & 15);
  }

  #addDigits(whole: number): void {
    let power = 1;
    while (power * 10 <= whole) power *= 10;
    for (let rest = whole; power >= 1; power = Math.trunc(power / 10)) {
      const digit = Math.trunc(rest / power);
      this.#bytes[this.#length++] = ZERO + digit;
      rest -= digit * power;
    }
  }

  #need(length: number): void {
    if (this.#length + length <= this.#bytes.length) return;
    const larger = new Uint8Array(this.#bytes.length * 2 + length);
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}

const HEX = "0123456789abcdef";
const [ZERO, SPACE, MINUS, POINT] = [0x30, 0x20, 0x2d, 0x2e];

/** Number of pages that share one node of the tree. */
const PAGES_PER_NODE = 64;

/** The pages of a PDF. Pages are written at once; only the numbers of their nodes stay in memory. */
export class PageTree {
  readonly root: number;
  #node = 0;
  #kids = "";
  #inNode = 0;
  #nodes = "";
  #count = 0;

  constructor(private readonly file: PdfFile, private readonly size: { width: number; height: number }) {
    this.root = file.reserve();
  }

  /** Writes a page. @param contentKey its number in the structure tree */
  add(page: number, content: number, contentKey: number): void {
    if (this.#inNode === 0) this.#node = this.file.reserve();
    this.file.write(
      `<</Type/Page/Parent ${this.#node} 0 R/Contents ${content} 0 R/StructParents ${contentKey}/Tabs/S>>`,
      page,
    );
    this.#kids += `${page} 0 R `;
    this.#count++;
    if (++this.#inNode === PAGES_PER_NODE) this.#endNode();
  }

  /** Writes the root. @param resources what the contents of all pages use */
  end(resources: string): void {
    if (this.#inNode > 0) this.#endNode();
    const { width, height } = this.size;
    this.file.write(
      `<</Type/Pages/Count ${this.#count}/Kids[${this.#nodes}]/MediaBox[0 0 ${width} ${height}]` +
        `/Resources<<${resources}>>>>`,
      this.root,
    );
  }

  #endNode(): void {
    const entries = `/Type/Pages/Parent ${this.root} 0 R/Count ${this.#inNode}/Kids[${this.#kids}]`;
    this.file.write(`<<${entries}>>`, this.#node);
    this.#nodes += `${this.#node} 0 R `;
    this.#kids = "";
    this.#inNode = 0;
  }
}
