const OPENING_CHARACTERS = 8192;

/** Text that was detected. */
export interface FoundText {
  /** The first characters: at least 8,192, or the whole text if it is shorter. */
  opening: string;
  /** False if only the declared charset fits. That is weak evidence: nearly any binary is valid windows-1252. */
  unicode: boolean;
}

interface Candidate extends FoundText {
  /** Throws if the bytes are not valid in the encoding. */
  decoder: { decode(bytes: Uint8Array, o: { stream: boolean }): string };
}

/** UTF-32LE must come before UTF-16LE, because its mark begins with the mark of UTF-16LE. */
const BYTE_ORDER_MARKS: [encoding: string, mark: number[]][] = [
  ["utf-32le", [0xff, 0xfe, 0x00, 0x00]],
  ["utf-32be", [0x00, 0x00, 0xfe, 0xff]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
];
const LONGEST_MARK = 4;

/**
 * Decides chunk by chunk, with constant memory, whether the whole content is text: valid UTF-8, or UTF-16 or UTF-32
 * with a byte order mark, or valid in the declared charset; without any NUL character. Feed every byte once, then call
 * `end`.
 */
export class TextProbe {
  #start = new Uint8Array(0);
  #candidates: Candidate[] | undefined;
  readonly #charset: string | undefined;

  /** @param charset as the uploader declared it; an unknown charset is ignored */
  constructor(charset?: string) {
    this.#charset = charset;
  }

  feed(bytes: Uint8Array): void {
    if (this.#candidates) return this.#decode(bytes, true);
    const start = new Uint8Array(this.#start.length + bytes.length);
    start.set(this.#start);
    start.set(bytes, this.#start.length);
    this.#start = start;
    if (start.length >= LONGEST_MARK) this.#begin();
  }

  /** The text found; null if the content is not text. Empty content counts as text. */
  end(): FoundText | null {
    if (!this.#candidates) this.#begin();
    this.#decode(new Uint8Array(0), false);
    return this.#candidates?.[0] ?? null;
  }

  #begin(): void {
    this.#candidates = candidatesFor(this.#start, this.#charset);
    this.#decode(this.#start, true);
    this.#start = new Uint8Array(0);
  }

  #decode(bytes: Uint8Array, stream: boolean): void {
    this.#candidates = this.#candidates?.filter((candidate) => {
      try {
        const text = candidate.decoder.decode(bytes, { stream });
        if (candidate.opening.length < OPENING_CHARACTERS) {
          candidate.opening += text.slice(0, OPENING_CHARACTERS);
        }
        return !text.includes("\0");
      } catch {
        return false;
      }
    });
  }
}

/** The encodings to try: the one of the byte order mark; without a mark, UTF-8 and then the declared charset. */
function candidatesFor(start: Uint8Array, charset: string | undefined): Candidate[] {
  const marked = BYTE_ORDER_MARKS.find(([, mark]) => mark.every((byte, i) => start[i] === byte))?.[0];
  if (marked !== undefined) {
    const decoder = marked.startsWith("utf-32")
      ? new Utf32Decoder(marked === "utf-32le")
      : decoderFor(marked);
    return decoder ? [{ decoder, opening: "", unicode: true }] : [];
  }
  return ["utf-8", charset].flatMap((label) => {
    const decoder = label === undefined ? undefined : decoderFor(label);
    return decoder ? [{ decoder, opening: "", unicode: decoder.encoding === "utf-8" }] : [];
  });
}

function decoderFor(label: string): TextDecoder | undefined {
  try {
    return new TextDecoder(label, { fatal: true });
  } catch {
    return undefined; // RangeError: not a charset the platform knows
  }
}

/** Decodes UTF-32, which TextDecoder does not support. Throws on incomplete characters and on invalid code points. */
class Utf32Decoder {
  #carry = new Uint8Array(0);
  #first = true;
  readonly #littleEndian: boolean;

  constructor(littleEndian: boolean) {
    this.#littleEndian = littleEndian;
  }

  decode(bytes: Uint8Array, { stream }: { stream: boolean }): string {
    const joined = new Uint8Array(this.#carry.length + bytes.length);
    joined.set(this.#carry);
    joined.set(bytes, this.#carry.length);
    const view = new DataView(joined.buffer);
    const whole = joined.length - joined.length % 4;
    let text = "";
    for (let i = 0; i < whole; i += 4) {
      const scalar = view.getUint32(i, this.#littleEndian);
      if (scalar >= 0xd800 && scalar <= 0xdfff) {
        throw new TypeError(`U+${scalar.toString(16)} is a surrogate`);
      }
      if (!this.#first || scalar !== 0xfeff) text += String.fromCodePoint(scalar);
      this.#first = false;
    }
    this.#carry = joined.slice(whole);
    if (!stream && this.#carry.length > 0) throw new TypeError("UTF-32 text ends within a character");
    return text;
  }
}
