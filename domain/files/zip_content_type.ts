import { inflateRawSync } from "node:zlib";

/** Reads the bytes from `start` up to, not including, `end`; fewer only where the content ends. */
export type RangeReader = (start: number, end: number) => Promise<Uint8Array>;

interface Directory {
  offset: number;
  size: number;
}

interface Entry {
  name: string;
  method: number;
  compressedSize: number;
  headerOffset: number;
}

const END_RECORD_SIZE = 22;
const MAX_COMMENT_SIZE = 0xffff;
/** Stands in place of a number that only the zip64 end record contains. */
const ZIP64_MARK = 0xffffffff;
/** About 20,000 entries. Parsing more would block the event loop. */
const MAX_DIRECTORY_BYTES = 1024 * 1024;
const MAX_PART_BYTES = 1024 * 1024;
const OOXML = "application/vnd.openxmlformats-officedocument.";
const TYPE_PARTS = new Set(["[content_types].xml", "mimetype", "_rels/.rels"]);
const MACRO_ENABLED = new Map([
  [`${OOXML}wordprocessingml.document`, "application/vnd.ms-word.document.macroenabled.12"],
  [`${OOXML}spreadsheetml.sheet`, "application/vnd.ms-excel.sheet.macroenabled.12"],
  [`${OOXML}presentationml.presentation`, "application/vnd.ms-powerpoint.presentation.macroenabled.12"],
]);

/** The last bytes of the content, where a zip has its end record, possibly followed by a comment. */
interface Tail {
  /** Offset of the view in the content. */
  from: number;
  view: DataView;
  /** Offsets of end records in the view, the last one first. */
  endRecords: number[];
}

async function readTail(read: RangeReader, size: number): Promise<Tail> {
  const from = Math.max(0, size - END_RECORD_SIZE - MAX_COMMENT_SIZE);
  const bytes = await read(from, size);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const endRecords: number[] = [];
  for (let at = bytes.length - END_RECORD_SIZE; at >= 0; at--) {
    if (view.getUint32(at, true) === 0x06054b50) endRecords.push(at);
  }
  return { from, view, endRecords };
}

/**
 * Could an unzip program find an archive appended to this content? Unzip programs correct a wrong comment length and a
 * wrong directory offset, so neither is checked here; only whether there is room for the directory before the end
 * record.
 */
export async function hasZipBehind(read: RangeReader, size: number): Promise<boolean> {
  const { from, view, endRecords } = await readTail(read, size);
  return endRecords.some((at) => {
    const length = view.getUint32(at + 12, true);
    return length === ZIP64_MARK || length <= from + at;
  });
}

/**
 * Finds the zip directory of this content; null if it has none. Only the last end record counts, and it must be
 * correct. With a wrong one, some programs correct it and others use an earlier end record, so they open different
 * archives.
 */
async function findZipDirectory(read: RangeReader, size: number): Promise<Directory | null> {
  const { from, view, endRecords: [at] } = await readTail(read, size);
  if (at === undefined) return null;
  const directory = { size: view.getUint32(at + 12, true), offset: view.getUint32(at + 16, true) };
  const isLarge = directory.size === ZIP64_MARK || directory.offset === ZIP64_MARK;
  if (isLarge && at >= 76) return zip64Directory(view, at - 76, from);
  const isWhole = at + END_RECORD_SIZE + view.getUint16(at + 20, true) <= view.byteLength;
  return isWhole && directory.offset + directory.size <= from + at ? directory : null;
}

/** The directory named by the zip64 end record (56 bytes) at `at`. The 20-byte locator behind it must point to it. */
function zip64Directory(view: DataView, at: number, from: number): Directory | null {
  if (view.getUint32(at, true) !== 0x06064b50 || view.getUint32(at + 56, true) !== 0x07064b50) return null;
  if (view.getBigUint64(at + 64, true) !== BigInt(from + at)) return null; // other programs would read another directory
  return { size: Number(view.getBigUint64(at + 40, true)), offset: Number(view.getBigUint64(at + 48, true)) };
}

/**
 * The content type of a zip, judged by its central directory as other programs do: an Office or OpenDocument type,
 * EPUB, a Java or Android archive, or plain `application/zip`. Null if the directory is missing or damaged. Documents
 * with a macro project get the macro-enabled types.
 */
export async function zipContentType(read: RangeReader, size: number): Promise<string | null> {
  const directory = await findZipDirectory(read, size);
  if (directory === null) return null;
  const { offset, size: length } = directory;
  const entries = parseEntries(await read(offset, offset + Math.min(length, MAX_DIRECTORY_BYTES)));
  if (entries === null) return null;
  if (length > MAX_DIRECTORY_BYTES || isAmbiguous(entries)) return "application/zip";
  const part = (name: string) => entries.find((entry) => entry.name === name);
  const contentTypes = part("[Content_Types].xml");
  if (contentTypes) return ooxmlType(await readPart(read, contentTypes), entries) ?? "application/zip";
  const mimetype = part("mimetype");
  if (mimetype) return packageType(await readPart(read, mimetype), entries) ?? "application/zip";
  if (part("AndroidManifest.xml")) return "application/vnd.android.package-archive";
  return part("META-INF/MANIFEST.MF") ? "application/java-archive" : "application/zip";
}

/** The entries found in these bytes of the central directory; null if the bytes are not a directory. */
function parseEntries(bytes: Uint8Array): Entry[] | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const decoder = new TextDecoder();
  const entries: Entry[] = [];
  for (let at = 0; at + 46 <= bytes.length && view.getUint32(at, true) === 0x02014b50;) {
    const nameEnd = at + 46 + view.getUint16(at + 28, true);
    entries.push({
      name: decoder.decode(bytes.subarray(at + 46, nameEnd)),
      method: view.getUint16(at + 10, true),
      compressedSize: view.getUint32(at + 20, true),
      headerOffset: view.getUint32(at + 42, true),
    });
    at = nameEnd + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return entries.length === 0 && bytes.length > 0 ? null : entries;
}

/** True if a part that decides the type is there more than once. Programs then differ in which of them they open. */
function isAmbiguous(entries: Entry[]): boolean {
  const deciding = entries.map(({ name }) => name.toLowerCase()).filter((name) => TYPE_PARTS.has(name));
  return new Set(deciding).size < deciding.length;
}

function ooxmlType(contentTypes: string, entries: Entry[]): string | null {
  const main = /ContentType\s*=\s*["']([\w./+-]{1,150})\.main\+xml["']/i.exec(contentTypes)?.[1]
    ?.toLowerCase();
  if (main === undefined || !entries.some((entry) => entry.name === "_rels/.rels")) return null;
  if (main.includes("macroenabled")) return `${main}.12`;
  // A macro project may have any file name, but it runs only if its content type is declared.
  const hasMacros = entries.some((entry) => /(^|\/)vbaproject\.bin$/i.test(entry.name)) ||
    /vbaproject|macroenabled|&#/i.test(contentTypes);
  return hasMacros ? MACRO_ENABLED.get(main) ?? null : main;
}

/** The type named in the `mimetype` part of an OpenDocument or EPUB file; null if a required part is missing. */
function packageType(mimetype: string, entries: Entry[]): string | null {
  const type = mimetype.trim().toLowerCase();
  const has = (name: string) => entries.some((entry) => entry.name === name);
  if (type === "application/epub+zip") return has("META-INF/container.xml") ? type : null;
  if (!/^application\/vnd\.oasis\.opendocument\.[a-z-]{1,50}$/.test(type)) return null;
  return has("content.xml") && has("META-INF/manifest.xml") ? type : null;
}

/** A part as text; empty if it is larger than 1 MiB, encrypted or compressed with an unknown method. */
async function readPart(read: RangeReader, entry: Entry): Promise<string> {
  if (entry.compressedSize > MAX_PART_BYTES) return "";
  const header = await read(entry.headerOffset, entry.headerOffset + 30);
  if (header.length < 30) return "";
  const view = new DataView(header.buffer, header.byteOffset, header.byteLength);
  const start = entry.headerOffset + 30 + view.getUint16(26, true) + view.getUint16(28, true);
  const packed = await read(start, start + entry.compressedSize);
  if (entry.method === 0) return new TextDecoder().decode(packed);
  return entry.method === 8 ? inflate(packed) : "";
}

/** Unpacks at most `MAX_PART_BYTES`: a compressed mebibyte can expand to a gigabyte. */
function inflate(packed: Uint8Array): string {
  try {
    return new TextDecoder().decode(inflateRawSync(packed, { maxOutputLength: MAX_PART_BYTES }));
  } catch {
    return ""; // damaged or too large: an incomplete part does not decide the type
  }
}
