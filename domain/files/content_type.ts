import { type FoundText, TextProbe } from "./text_probe.ts";
import { hasZipBehind, type RangeReader, zipContentType } from "./zip_content_type.ts";

const HTML_PAGE = /^(?:<!doctype html|<(?:html|head|body|title|style|script|iframe)(?=[\s>/]))/i;
const HTML_FRAGMENT = /^<(?:[a-z][\w-]*|!--)/i;
/** Markup that a browser or a PHP server would run. A genuine image has none; one that contains it is probably a polyglot. */
const ACTIVE_MARKUP = /<(?:script|iframe)[\s>/]|<html[\s>]|<!doctype\s+html|<\?php\s/i;
const LONGEST_PATTERN = 32;
const SKIPPED = /^(?:\s+|<!--[\s\S]*?-->|<\?xml(?:\s[\s\S]*?)?\?>)/i;
const DOCTYPE = /^<!doctype\s+([\w:.-]+)[^[>]*(?:\[[\s\S]*?\]\s*)?>/i;

/**
 * The markup type of a text, judged by its beginning: `text/html`, `application/xhtml+xml`, `image/svg+xml` or
 * `application/xml`; null for other text. Leading comments and XML prologues are skipped. Many Markdown files begin
 * with a tag or a comment, so such a text counts as HTML only if its beginning also has a script, an iframe or a page.
 */
function markupType(opening: string): string | null {
  let rest = opening;
  const xml = /^\s*<\?xml[\s?]/.test(rest);
  for (let next = SKIPPED.exec(rest); next; next = SKIPPED.exec(rest)) rest = rest.slice(next[0].length);
  const root = DOCTYPE.exec(rest)?.[1]?.toLowerCase() ?? /^<([\w:.-]+)/.exec(rest)?.[1]?.toLowerCase();
  if (root === "svg" || root?.endsWith(":svg")) return "image/svg+xml";
  if (root === "html" && xml) return "application/xhtml+xml";
  if (HTML_PAGE.test(rest)) return "text/html";
  if (xml) return "application/xml";
  return HTML_FRAGMENT.test(opening.trimStart()) && ACTIVE_MARKUP.test(opening) ? "text/html" : null;
}

/** The type of content that is of no known type, or of two types at once (a polyglot). */
const UNKNOWN_TYPE = "application/octet-stream";
/** The type of empty content; no profile allows it. */
const EMPTY_TYPE = "application/x-empty";

const HEAD_BYTES = 16 * 1024;
/** PDF readers accept the PDF signature anywhere in the first 1024 bytes, so other types must not contain it there. */
const PDF_SEARCH_BYTES = 1024;
const IMAGES = ["image/png", "image/jpeg", "image/webp", "image/gif"];
const SIGNATURES: [type: string, bytes: number[]][] = [
  ["application/zip", [0x50, 0x4b, 0x03, 0x04]],
  ["application/zip", [0x50, 0x4b, 0x05, 0x06]],
  ["application/gzip", [0x1f, 0x8b, 0x08]],
  ["application/x-cfb", [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]],
];
/** Formats whose content can be plain text, and how they begin. Only these types replace `text/plain`. */
const TEXT_FORMATS: [type: string, beginning: string][] = [
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
  #hasActiveMarkup = false;
  /** The end of the text that was searched for active markup. */
  #tail = "";
  readonly #text: TextProbe;

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
    return this.#hasActiveMarkup;
  }

  /** Processes the next chunk. Does not keep or change it. */
  feed(chunk: Uint8Array): void {
    this.#sizeBytes += chunk.length;
    if (this.#head.length < HEAD_BYTES) {
      const head = new Uint8Array(Math.min(HEAD_BYTES, this.#head.length + chunk.length));
      head.set(this.#head);
      head.set(chunk.subarray(0, head.length - this.#head.length), this.#head.length);
      this.#head = head;
    }
    this.#text.feed(chunk);
    if (this.#hasActiveMarkup || !mayBeImage(this.#head)) return;
    const text = this.#tail + latin1(chunk);
    this.#hasActiveMarkup = ACTIVE_MARKUP.test(text);
    this.#tail = text.slice(-LONGEST_PATTERN);
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
  if (probe.sizeBytes === 0) return EMPTY_TYPE;
  const text = probe.text();
  if (text?.unicode) return textType(text);
  const binary = await binaryType(probe, clampRanges(probe.sizeBytes, read));
  if (binary !== UNKNOWN_TYPE || text === null) return binary;
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
  const format = TEXT_FORMATS.find(([, beginning]) => opening.startsWith(beginning))?.[0];
  return format ?? markupType(opening) ?? "text/plain";
}

async function binaryType(probe: ContentProbe, read: RangeReader): Promise<string> {
  const signed = SIGNATURES.find(([, bytes]) => startsWith(probe.head, bytes))?.[0];
  if (signed === "application/zip") return await zipContentType(read, probe.sizeBytes) ?? UNKNOWN_TYPE;
  if (signed === "application/x-cfb") return await compoundContentType(read);
  if (signed !== undefined) return signed;
  const type = await detectBinary(probe.head);
  return IMAGES.includes(type) && await isPolyglot(probe, read) ? UNKNOWN_TYPE : type;
}

async function detectBinary(head: Uint8Array): Promise<string> {
  // Imported here, because it is half a megabyte of code that is not needed at startup.
  const { fileTypeFromBuffer } = await import("file-type");
  // The detector may throw on broken content; then the type is unknown.
  const type = await fileTypeFromBuffer(head).catch(() => undefined);
  if (type?.mime === "image/apng") return "image/png"; // an animated PNG is accepted wherever a PNG is
  if (type?.mime === "image/gif" && !/^GIF8[79]a$/.test(latin1(head.subarray(0, 6)))) {
    return UNKNOWN_TYPE;
  }
  return type?.mime ?? UNKNOWN_TYPE;
}

/** True if an image is also a zip, jar or PDF, or contains a script. */
async function isPolyglot(probe: ContentProbe, read: RangeReader): Promise<boolean> {
  return probe.hasActiveMarkup || latin1(probe.head.subarray(0, PDF_SEARCH_BYTES)).includes("%PDF-") ||
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

const MAX_DIRECTORY_SECTORS = 256;
const LAST_SECTOR = 0xfffffffa; // larger numbers are special markers, not sectors
const NO_ENTRY = 0xffffffff;

/** The main stream of each legacy Office type; it is a child of the container's root. */
const OFFICE_STREAMS = new Map([
  ["WordDocument", "application/msword"],
  ["Workbook", "application/vnd.ms-excel"],
  ["Book", "application/vnd.ms-excel"],
  ["PowerPoint Document", "application/vnd.ms-powerpoint"],
]);

/**
 * The content type of a Compound File (MS-CFB: `.doc`, `.xls`, `.ppt`, but also installers, mails and encrypted Office
 * documents): the legacy Office type whose main stream is in the root, otherwise `application/x-cfb`.
 */
async function compoundContentType(read: RangeReader): Promise<string> {
  const header = await read(0, 512);
  const view = viewOf(header);
  const shift = header.length === 512 ? view.getUint16(30, true) : 0;
  if (shift !== 9 && shift !== 12) return "application/x-cfb";
  const directory = await readDirectory(read, view, 2 ** shift);
  const found = new Set(
    rootStreams(directory).map((name) => OFFICE_STREAMS.get(name)).filter((type) => type !== undefined),
  );
  const [only] = found;
  return found.size === 1 && only !== undefined ? only : "application/x-cfb";
}

/**
 * Reads the directory's chain of sectors through the allocation table. If the file is damaged, returns what it has
 * read.
 */
async function readDirectory(read: RangeReader, header: DataView, sectorSize: number): Promise<Uint8Array> {
  const sectorAt = (number: number) => read((number + 1) * sectorSize, (number + 2) * sectorSize);
  const perSector = sectorSize / 4;
  const lists: DataView[] = [];
  /** The sector of the table with this index: the header lists the first 109, a chain of sectors the others. */
  const tableSector = async (index: number): Promise<number> => {
    if (index < 109) return header.getUint32(76 + 4 * index, true);
    const [list, place] = [Math.floor((index - 109) / (perSector - 1)), (index - 109) % (perSector - 1)];
    while (lists.length <= list) {
      const next = lists.at(-1)?.getUint32(sectorSize - 4, true) ?? header.getUint32(68, true);
      const bytes = await sectorAt(next);
      if (bytes.length < sectorSize) return NO_ENTRY;
      lists.push(viewOf(bytes));
    }
    return lists[list]?.getUint32(4 * place, true) ?? NO_ENTRY;
  };
  const sectors: Uint8Array[] = [];
  let table: { index: number; view: DataView } | undefined;
  let sector = header.getUint32(48, true);
  while (sector < LAST_SECTOR && sectors.length < MAX_DIRECTORY_SECTORS) {
    const bytes = await sectorAt(sector);
    if (bytes.length < sectorSize) break;
    sectors.push(bytes);
    const index = Math.floor(sector / perSector);
    if (table?.index !== index) table = { index, view: viewOf(await sectorAt(await tableSector(index))) };
    const offset = 4 * (sector % perSector);
    if (offset + 4 > table.view.byteLength) break;
    sector = table.view.getUint32(offset, true);
  }
  return new Uint8Array(await new Blob(sectors.map((bytes) => Uint8Array.from(bytes))).arrayBuffer());
}

/** Names of the streams that are direct children of the root. The entries (128 bytes each) form a binary tree. */
function rootStreams(directory: Uint8Array): string[] {
  const view = viewOf(directory);
  const names: string[] = [];
  const seen = new Set<number>();
  const pending = directory.length >= 128 ? [view.getUint32(76, true)] : [];
  for (let entry = pending.pop(); entry !== undefined; entry = pending.pop()) {
    const at = entry * 128;
    if (entry === NO_ENTRY || seen.has(entry) || at + 128 > directory.length) continue;
    seen.add(entry);
    const nameBytes = Math.min(64, Math.max(2, view.getUint16(at + 64, true))) - 2;
    const isStream = view.getUint8(at + 66) === 2;
    if (isStream) names.push(new TextDecoder("utf-16le").decode(directory.subarray(at, at + nameBytes)));
    pending.push(view.getUint32(at + 68, true), view.getUint32(at + 72, true));
  }
  return names;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
