import { compoundContentType } from "./compound_content_type.ts";
import { ActiveMarkupProbe, markupType } from "./markup.ts";
import { type FoundText, TextProbe } from "./text_probe.ts";
import { hasZipBehind, type RangeReader, zipContentType } from "./zip_content_type.ts";

/** The type of content that is of no known type, or of two types at once (a polyglot). */
const unknownContentType = "application/octet-stream";
/** The type of empty content; no profile allows it. */
const emptyContentType = "application/x-empty";

const headBytes = 16 * 1024;
/** PDF readers accept the PDF signature anywhere in the first 1024 bytes, so other types must not contain it there. */
const pdfSearchBytes = 1024;
const images = ["image/png", "image/jpeg", "image/webp", "image/gif"];
const signatures: [type: string, bytes: number[]][] = [
  ["application/zip", [0x50, 0x4b, 0x03, 0x04]],
  ["application/zip", [0x50, 0x4b, 0x05, 0x06]],
  ["application/gzip", [0x1f, 0x8b, 0x08]],
  ["application/x-cfb", [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]],
];
/** Formats whose content can be plain text, and how they begin. Only these types replace `text/plain`. */
const textFormats: [type: string, beginning: string][] = [
  ["application/pdf", "%PDF-"],
  ["application/postscript", "%!PS"],
  ["application/rtf", "{\\rtf"],
];

/**
 * Collects what `detectContentType` needs while the content is hashed and scanned in one pass: its size, its first 16
 * KiB, whether all of it is text and whether it contains active markup. Memory use is constant.
 */
export class ContentProbe {
  #head = new Uint8Array(0);
  #sizeBytes = 0;
  readonly #text: TextProbe;
  readonly #markup = new ActiveMarkupProbe();

  /** @param declaredContentType only its charset is used, for text that is not Unicode */
  constructor(declaredContentType?: string) {
    this.#text = new TextProbe(/;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(declaredContentType ?? "")?.[1]);
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  get head(): Uint8Array {
    return this.#head;
  }

  get hasActiveMarkup(): boolean {
    return this.#markup.found;
  }

  /** Processes the next chunk. Does not keep or change it. */
  feed(chunk: Uint8Array): void {
    this.#sizeBytes += chunk.length;
    if (this.#head.length < headBytes) {
      const head = new Uint8Array(Math.min(headBytes, this.#head.length + chunk.length));
      head.set(this.#head);
      head.set(chunk.subarray(0, head.length - this.#head.length), this.#head.length);
      this.#head = head;
    }
    this.#text.feed(chunk);
    if (mayBeImage(this.#head)) this.#markup.feed(chunk);
  }

  /** The text found, after all content was fed; null if the content is not text. */
  text(): FoundText | null {
    return this.#text.end();
  }
}

/**
 * Detects the content type from the bytes alone. The file name and the declared type do not matter, except that the
 * probe may have used the declared charset.
 * @param probe was fed the whole content
 * @param read reads ranges of the same content; used for containers and images only
 * @returns `application/octet-stream` for unknown types and polyglots; `text/plain` also for CSV, which has no
 * signature
 */
export async function detectContentType(probe: ContentProbe, read: RangeReader): Promise<string> {
  if (probe.sizeBytes === 0) return emptyContentType;
  const text = probe.text();
  if (text?.unicode) return textType(text);
  const binary = await binaryType(probe, clampRanges(probe.sizeBytes, read));
  if (binary !== unknownContentType || text === null) return binary;
  return textType(text);
}

/** Limits ranges to the content. Damaged or hostile containers name ranges outside of it, which stores refuse. */
function clampRanges(size: number, read: RangeReader): RangeReader {
  return (start, end) => {
    const last = Math.min(end, size);
    return start < last ? read(start, last) : Promise.resolve(new Uint8Array(0));
  };
}

function textType({ opening }: FoundText): string {
  const format = textFormats.find(([, beginning]) => opening.startsWith(beginning))?.[0];
  return format ?? markupType(opening) ?? "text/plain";
}

async function binaryType(probe: ContentProbe, read: RangeReader): Promise<string> {
  const signed = signatures.find(([, bytes]) => startsWith(probe.head, bytes))?.[0];
  if (signed === "application/zip") return await zipContentType(read, probe.sizeBytes) ?? unknownContentType;
  if (signed === "application/x-cfb") return await compoundContentType(read);
  if (signed !== undefined) return signed;
  const type = await detectBinary(probe.head);
  return images.includes(type) && await isPolyglot(probe, read) ? unknownContentType : type;
}

async function detectBinary(head: Uint8Array): Promise<string> {
  // Imported here, because it is half a megabyte of code that is not needed at startup.
  const { fileTypeFromBuffer } = await import("file-type");
  // The detector may throw on broken content; then the type is unknown.
  const type = await fileTypeFromBuffer(head).catch(() => undefined);
  if (type?.mime === "image/apng") return "image/png"; // an animated PNG is accepted wherever a PNG is
  if (type?.mime === "image/gif" && !/^GIF8[79]a$/.test(latin1(head.subarray(0, 6)))) {
    return unknownContentType;
  }
  return type?.mime ?? unknownContentType;
}

/** True if an image is also a zip, jar or PDF, or contains a script. */
async function isPolyglot(probe: ContentProbe, read: RangeReader): Promise<boolean> {
  return probe.hasActiveMarkup || latin1(probe.head.subarray(0, pdfSearchBytes)).includes("%PDF-") ||
    await hasZipBehind(read, probe.sizeBytes);
}

function mayBeImage(head: Uint8Array): boolean {
  return startsWith(head, [0x89, 0x50]) || startsWith(head, [0xff, 0xd8]) ||
    /^(?:GIF8|RIFF)/.test(latin1(head.subarray(0, 4)));
}

function startsWith(head: Uint8Array, bytes: number[]): boolean {
  return bytes.every((byte, i) => head[i] === byte);
}

function latin1(bytes: Uint8Array): string {
  return new TextDecoder("latin1").decode(bytes);
}
