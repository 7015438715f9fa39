import { compoundContentType } from "./compound_content_type.ts";
import { ActiveMarkupProbe, markupType } from "./markup.ts";
import { type FoundText, TextProbe } from "./text_probe.ts";
import { hasZipBehind, type RangeReader, zipContentType } from "./zip_content_type.ts";

/** The answer for content that is none of the known types, or claims to be two at once. */
export const unknownContentType = "application/octet-stream";
/** The answer for content without a byte; no profile allows it. */
export const emptyContentType = "application/x-empty";

const headBytes = 16 * 1024;
/** PDF readers accept their signature anywhere in here, so it must not appear in here in anything else. */
const pdfSearchBytes = 1024;
const images = ["image/png", "image/jpeg", "image/webp", "image/gif"];
const signatures: [type: string, bytes: number[]][] = [
  ["application/zip", [0x50, 0x4b, 0x03, 0x04]],
  ["application/zip", [0x50, 0x4b, 0x05, 0x06]],
  ["application/gzip", [0x1f, 0x8b, 0x08]],
  ["application/x-cfb", [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]],
];
/** Formats that may consist of text only, by how they begin. Only these outrank the finding that content is text. */
const textFormats: [type: string, beginning: string][] = [
  ["application/pdf", "%PDF-"],
  ["application/postscript", "%!PS"],
  ["application/rtf", "{\\rtf"],
];

/**
 * Watches content go by, in the one pass that also hashes and scans it, and keeps what `detectContentType` needs: the size, the first
 * 16 KiB, whether all of it is text, and whether there is active markup in it. Memory stays flat.
 */
export class ContentProbe {
  #head = new Uint8Array(0);
  #sizeBytes = 0;
  readonly #text: TextProbe;
  readonly #markup = new ActiveMarkupProbe();

  /** `declaredContentType` only lends its charset, for text that is not Unicode. */
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

  /** Takes the next chunk; it is neither kept nor changed. */
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

  /** What text the content is, once all of it was fed; null when it is not. */
  text(): FoundText | null {
    return this.#text.end();
  }
}

/**
 * The real content type, by the bytes alone: never by a name or a declared type (whose charset the probe may have used).
 * Give it a probe that was fed the whole content, and a reader of ranges of that same content, used for containers and images only.
 * Answers `application/octet-stream` for the unknown and for polyglots, `text/plain` for csv too (csv has no mark of its own).
 */
export async function detectContentType(probe: ContentProbe, read: RangeReader): Promise<string> {
  if (probe.sizeBytes === 0) return emptyContentType;
  const text = probe.text();
  if (text?.unicode) return textType(text);
  const binary = await binaryType(probe, inside(probe.sizeBytes, read));
  if (binary !== unknownContentType || text === null) return binary;
  return textType(text);
}

/** Keeps every range within the content: damaged or hostile containers point anywhere, and stores refuse such ranges. */
function inside(size: number, read: RangeReader): RangeReader {
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
  const type = await recognise(probe.head);
  return images.includes(type) && await isPolyglot(probe, read) ? unknownContentType : type;
}

async function recognise(head: Uint8Array): Promise<string> {
  // A detector that stumbles over broken content has not recognised it.
  const { fileTypeFromBuffer } = await import("file-type"); // half a megabyte of code that a start does not need
  const type = await fileTypeFromBuffer(head).catch(() => undefined);
  if (type?.mime === "image/apng") return "image/png"; // an animated png is a png to everyone who asks for one
  if (type?.mime === "image/gif" && !/^GIF8[79]a$/.test(latin1(head.subarray(0, 6)))) {
    return unknownContentType;
  }
  return type?.mime ?? unknownContentType;
}

/** An image that is at the same time a zip, jar or pdf, or that carries a script. */
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
