import { crc32, createDeflateRaw, type DeflateRaw } from "node:zlib";

/** A file in an archive: its path and its content in chunks. */
export interface ZipPart {
  path: string;
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

interface Written {
  path: Uint8Array<ArrayBuffer>;
  offset: number;
  crc: number;
  packed: number;
  unpacked: number;
}

const LEVEL = 3; // sheets compress to a tenth at any level; higher levels only take longer
const MAX_BYTES = 0xffff_ffff;
const FLAGS = 0x0808; // sizes come after the content; names are UTF-8
const DOS_TIME = 0;
const DOS_DATE = 0x0021; // 1980-01-01, a constant, so that the same rows give the same bytes

/**
 * Writes a zip archive as a stream; only the list of parts stays in memory. The sizes of a part are written after its
 * content, because they are not known before.
 * @throws RangeError for more than 4 GiB, the limit of zip without zip64
 */
export async function* zipStream(parts: AsyncIterable<ZipPart>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const written: Written[] = [];
  let offset = 0;
  const emit = (bytes: Uint8Array<ArrayBuffer>) => {
    offset += bytes.length;
    if (offset > MAX_BYTES) throw new RangeError("the archive is larger than 4 GiB");
    return bytes;
  };
  for await (const { path, content } of parts) {
    const part: Written = { path: new TextEncoder().encode(path), offset, crc: 0, packed: 0, unpacked: 0 };
    yield emit(fields([4, 0x04034b50], ...common(part), [2, 0], part.path));
    for await (const packed of deflate(measure(content, part))) {
      part.packed += packed.length;
      yield emit(packed);
    }
    if (part.unpacked > MAX_BYTES) throw new RangeError(`${path} is larger than 4 GiB`);
    yield emit(fields([4, 0x08074b50], [4, part.crc], [4, part.packed], [4, part.unpacked]));
    written.push(part);
  }
  const start = offset;
  for (const part of written) {
    yield emit(fields(
      [4, 0x02014b50],
      [2, 20],
      ...common(part),
      [2, 0],
      [2, 0],
      [2, 0],
      [2, 0],
      [4, 0],
      [4, part.offset],
      part.path,
    ));
  }
  const size = offset - start;
  const count = written.length;
  yield emit(fields([4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, size], [4, start], [2, 0]));
}

/** The fields shared by a part's header and its directory entry. In the header, the sizes are still zero. */
const common = ({ crc, packed, unpacked, path }: Written): Field[] => [
  [2, 20],
  [2, FLAGS],
  [2, 8],
  [2, DOS_TIME],
  [2, DOS_DATE],
  [4, crc],
  [4, packed],
  [4, unpacked],
  [2, path.length],
];

/** Passes the content on and adds its CRC and size to `part`. */
async function* measure(content: ZipPart["content"], part: Written): AsyncGenerator<Uint8Array> {
  for await (const bytes of content) {
    part.crc = crc32(bytes, part.crc);
    part.unpacked += bytes.length;
    yield bytes;
  }
}

async function* deflate(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const packer = createDeflateRaw({ level: LEVEL, chunkSize: 64 * 1024 });
  const feeding = (async () => {
    for await (const bytes of content) {
      if (packer.destroyed) return; // the reader stopped; leaving the loop closes the content
      if (!packer.write(bytes)) await drained(packer);
    }
    packer.end();
  })().catch((error) => packer.destroy(error));
  try {
    for await (const packed of packer) yield new Uint8Array(packed);
  } finally {
    packer.destroy();
    await feeding;
  }
}

const drained = (packer: DeflateRaw): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      packer.off("drain", done).off("close", done);
      resolve();
    };
    packer.on("drain", done).on("close", done);
  });

/** A little-endian number with its size in bytes, or raw bytes. */
type Field = [bytes: 2 | 4, value: number] | Uint8Array;

function fields(...parts: Field[]): Uint8Array<ArrayBuffer> {
  const sizes = parts.map((part) => part instanceof Uint8Array ? part.length : part[0]);
  const bytes = new Uint8Array(sizes.reduce((sum, size) => sum + size, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [i, part] of parts.entries()) {
    if (part instanceof Uint8Array) bytes.set(part, at);
    else if (part[0] === 2) view.setUint16(at, part[1], true);
    else view.setUint32(at, part[1], true);
    at += sizes[i] ?? 0;
  }
  return bytes;
}
