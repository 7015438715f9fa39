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
