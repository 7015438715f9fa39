import { Buffer } from "node:buffer";
import { constants, crc32, deflateRawSync, deflateSync, gzipSync } from "node:zlib";

/** Real files, made by small encoders, that the content detectors must recognise. */

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
export const join = (...parts: Uint8Array[]): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.concat(parts));

/** Compressed content and its uncompressed size. */
interface Packed {
  packed: Uint8Array;
  sizeBytes: number;
}

/** A part of a zip: name and text or bytes. */
export type ZipPart = [name: string, content: string | Uint8Array | Packed];

/** Blocks of 20 MiB of spaces, compressed to a thousandth. A deflate stream may repeat whole blocks. */
export function packedBlanks(blocks: number): Packed {
  const plain = Buffer.alloc(20 * 1024 * 1024, " ");
  const block = deflateRawSync(plain, { level: 9, finishFlush: constants.Z_FULL_FLUSH });
  const end = Uint8Array.of(3, 0);
  return { packed: join(...Array(blocks).fill(block), end), sizeBytes: blocks * plain.length };
}

/**
 * A zip of these parts in this order.
 * @param o.store stored instead of deflated; `streamed`: sizes follow the data, as when written to a pipe; `zip64`: with a
 * zip64 end record
 */
export function zip(
  parts: ZipPart[],
  o: { store?: boolean; streamed?: boolean; zip64?: boolean } = {},
): Uint8Array {
  const body: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of parts) {
    const plain = typeof content === "string" ? utf8(content) : content;
    const { packed, sizeBytes, crc } = "packed" in plain
      ? { ...plain, crc: 0 }
      : { packed: o.store ? plain : deflateRawSync(plain), sizeBytes: plain.length, crc: crc32(plain) };
    const sums = record([4, crc], [4, packed.length], [4, sizeBytes]);
    const common = record([2, 20], [2, o.streamed ? 8 : 0], [2, o.store ? 0 : 8], [4, 0]);
    const lengths = record([2, utf8(name).length], [2, 0]);
    const local = [
      record([4, 0x04034b50]),
      common,
      o.streamed ? Buffer.alloc(12) : sums,
      lengths,
      utf8(name),
      packed,
    ];
    if (o.streamed) local.push(record([4, 0x08074b50]), sums);
    directory.push(Buffer.concat([
      record([4, 0x02014b50], [2, 20]),
      common,
      sums,
      lengths,
      record([2, 0], [2, 0], [2, 0], [4, 0], [4, offset]),
      utf8(name),
    ]));
    body.push(Buffer.concat(local));
    offset += body.at(-1)?.length ?? 0;
  }
  const size = Buffer.concat(directory).length;
  const n = parts.length;
  const end64 = [
    record([4, 0x06064b50], [8, 44], [2, 45], [2, 45], [4, 0], [4, 0], [8, n], [8, n], [8, size], [
      8,
      offset,
    ]),
    record([4, 0x07064b50], [4, 0], [8, offset + size], [4, 1]),
  ];
  const where: [number, number][] = o.zip64 ? [[4, 0xffffffff], [4, 0xffffffff]] : [[4, size], [4, offset]];
  const end = record([4, 0x06054b50], [2, 0], [2, 0], [2, n], [2, n], ...where, [2, 0]);
  return join(...body, ...directory, ...(o.zip64 ? end64 : []), end);
}

const relations =
  '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"/>';

/** An Office document: `kind` such as `wordprocessingml.document`, main part such as `word/document.xml`. */
export function officeParts(kind: string, mainPart: string): ZipPart[] {
  const main = `application/vnd.openxmlformats-officedocument.${kind}.main+xml`;
  return [
    [
      "[Content_Types].xml",
      `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/${mainPart}" ContentType="${main}"/></Types>`,
    ],
    ["_rels/.rels", relations],
    [mainPart, `<?xml version="1.0"?><root>${"text ".repeat(500)}</root>`],
  ];
}

export function openDocument(kind: string): Uint8Array {
  return zip([
    ["mimetype", `application/vnd.oasis.opendocument.${kind}`],
    ["META-INF/manifest.xml", "<manifest/>"],
    ["content.xml", "<office:document-content/>"],
  ], { store: true });
}

/** A greyscale PNG of 64 × 64 pixels; `extra` chunks come before the image data. */
export const png = (...extra: PngChunk[]): Uint8Array<ArrayBuffer> =>
  pngOf({ width: 64, height: 64, colour: 0 }, Uint8Array.from({ length: 65 * 64 }, pixelOfRows), extra);

/** Each row begins with a byte that names its filter. */
const pixelOfRows = (_: unknown, at: number) => at % 65 === 0 ? 0 : at * 7;

type PngChunk = [type: string, data: Uint8Array];

/** @param o.colour 0: grey, 2: RGB @param rows the rows of pixels, each after its filter */
export function pngOf(
  o: { width: number; height: number; colour: 0 | 2; isInterlaced?: boolean },
  rows: Uint8Array,
  extra: PngChunk[] = [],
): Uint8Array<ArrayBuffer> {
  const chunk = ([type, data]: PngChunk) => {
    const typed = join(utf8(type), data);
    return join(record32(data.length), typed, record32(crc32(typed)));
  };
  const header = Uint8Array.of(8, o.colour, 0, 0, o.isInterlaced ? 1 : 0);
  const chunks: PngChunk[] = [
    ["IHDR", join(record32(o.width), record32(o.height), header)],
    ...extra,
    ["IDAT", deflateSync(rows)],
    ["IEND", utf8("")],
  ];
  return join(Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a), ...chunks.map(chunk));
}

const base64 = (text: string) => new Uint8Array(Buffer.from(text, "base64"));
/** 1 × 1 pixel each. */
export const gif = base64("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7");
export const webp = base64("UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAwA0JaQAA3AA/vuUAAA=");
export const jpeg = base64(
  "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxD/2Q==",
);

export function pdf(): Uint8Array {
  const objects = [
    "<</Type/Catalog/Pages 2 0 R>>",
    "<</Type/Pages/Kids[3 0 R]/Count 1>>",
    "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>",
  ];
  let body = "%PDF-1.4\n";
  const offsets = objects.map((object, i) => {
    const at = body.length;
    body += `${i + 1} 0 obj${object}endobj\n`;
    return `${String(at).padStart(10, "0")} 00000 n \n`;
  });
  const table = `xref\n0 4\n0000000000 65535 f \n${offsets.join("")}`;
  return utf8(`${body}${table}trailer<</Size 4/Root 1 0 R>>\nstartxref\n${body.length}\n%%EOF\n`);
}

export const gzip = (content: Uint8Array): Uint8Array => new Uint8Array(gzipSync(content));

/** A gzip of one deflate stream; its checksum is wrong, which a reader finds only at the end. */
export const rawGzip = (packed: Uint8Array): Uint8Array =>
  join(Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3), packed, new Uint8Array(8));

/** The same gzip with an extra field, a name and a comment in its header. */
export const withGzipName = (plain: Uint8Array): Uint8Array =>
  join(
    Uint8Array.of(0x1f, 0x8b, 8, 4 | 8 | 16, 0, 0, 0, 0, 0, 3),
    Uint8Array.of(2, 0, 1, 2),
    utf8("name\0comment\0"),
    plain.subarray(10),
  );

/** The same zip of one entry, which claims another compression method. */
export function withMethod(plain: Uint8Array, method: number): Uint8Array {
  const changed = plain.slice();
  const view = new DataView(changed.buffer);
  view.setUint16(8, method, true);
  view.setUint16(view.getUint32(changed.length - 6, true) + 10, method, true);
  return changed;
}

/** A tar (POSIX ustar) of these files. */
export function tar(files: [name: string, content: Uint8Array][]): Uint8Array {
  const blocks = files.flatMap(([name, content]) => {
    const header = new Uint8Array(512);
    const put = (at: number, text: string) => header.set(utf8(text), at);
    put(0, name);
    put(100, "0000644\0");
    put(124, `${content.length.toString(8).padStart(11, "0")}\0`);
    put(136, `${"0".repeat(11)}\0`);
    put(148, " ".repeat(8));
    put(156, "0");
    put(257, "ustar\x0000");
    const sum = header.reduce((total, byte) => total + byte, 0);
    put(148, `${sum.toString(8).padStart(6, "0")}\0 `);
    return [header, content, new Uint8Array((512 - content.length % 512) % 512)];
  });
  return join(...blocks, new Uint8Array(1024));
}

/**
 * A Compound File (version 3) with empty streams in its root and in one nested storage. Sector 0 is the allocation table;
 * the directory starts at sector 1.
 */
export function compoundFile(rootStreams: string[], nestedStreams: string[] = []): Uint8Array {
  const none = 0xffffffff;
  const storage = rootStreams.length + 1;
  const chain = (names: string[], first: number, last: number) =>
    names.map((name, i) => directoryEntry(name, 2, i + 1 < names.length ? first + i + 1 : last, none));
  const entries = [
    directoryEntry("Root Entry", 5, none, rootStreams.length > 0 ? 1 : storage),
    ...chain(rootStreams, 1, storage),
    directoryEntry("Attachment", 1, none, nestedStreams.length > 0 ? storage + 1 : none),
    ...chain(nestedStreams, storage + 1, none),
  ];
  const sectors = Math.ceil(entries.length / 4);
  const header = Buffer.alloc(512, 0xff);
  const fixed = record([8, 0xe11ab1a1e011cfd0n], [8, 0], [8, 0], [2, 0x3e], [2, 3], [2, 0xfffe], [2, 9], [
    2,
    6,
  ]);
  fixed.copy(header);
  record(
    [2, 0],
    [4, 0],
    [4, 0],
    [4, 1],
    [4, 1],
    [4, 0],
    [4, 4096],
    [4, 0xfffffffe],
    [4, 0],
    [4, 0xfffffffe],
    [4, 0],
    [4, 0],
  )
    .copy(header, 34);
  const table = Buffer.alloc(512, 0xff);
  table.writeUInt32LE(0xfffffffd, 0);
  for (let i = 1; i <= sectors; i++) table.writeUInt32LE(i === sectors ? 0xfffffffe : i + 1, 4 * i);
  return join(header, table, ...entries, Buffer.alloc(sectors * 512 - entries.length * 128));
}

function directoryEntry(name: string, type: number, right: number, child: number): Buffer {
  const entry = Buffer.alloc(128);
  entry.write(name, "utf16le");
  record([2, (name.length + 1) * 2], [1, type], [1, 1], [4, 0xffffffff], [4, right], [4, child]).copy(
    entry,
    64,
  );
  return entry;
}

/** Little-endian numbers, each with its size in bytes. */
function record(...fields: [bytes: number, value: number | bigint][]): Buffer {
  return Buffer.concat(fields.map(([bytes, value]) => {
    const field = Buffer.alloc(8);
    field.writeBigUInt64LE(BigInt(value));
    return field.subarray(0, bytes);
  }));
}

function record32(value: number): Uint8Array {
  return new Uint8Array(record([4, value]).reverse());
}
