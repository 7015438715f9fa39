import type { PassThrough } from "node:stream";
import { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { ZipFile } from "yazl";

/** A file in an archive: its path and its content in chunks. */
export interface ZipPart {
  path: string;
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

const OPTIONS = {
  compressionLevel: 3, // sheets compress to a tenth at any level; higher levels only take longer
  mtime: new Date(1980, 0, 1), // a constant, so that the same rows give the same bytes
  forceDosTimestamp: true,
};
const MAX_BYTES = 0xffff_ffff;

/**
 * Writes a zip archive as a stream; only the list of parts stays in memory.
 * @throws RangeError for more than 4 GiB: Excel repairs workbooks in the zip64 format with a warning
 */
export async function* zipStream(parts: AsyncIterable<ZipPart>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const archive = new ZipFile();
  const output: PassThrough = archive.outputStream;
  const adding = addParts(archive, output, parts).catch((error) => output.destroy(error));
  try {
    yield* limited(output, "the archive");
  } finally {
    output.destroy();
    await adding;
  }
}

/** Adds one part after the other, so that the content of the next one is read when this one is complete. */
async function addParts(
  archive: ZipFile,
  output: PassThrough,
  parts: AsyncIterable<ZipPart>,
): Promise<void> {
  for await (const { path, content } of parts) {
    const part = Readable.from(limited(content, path), { objectMode: false });
    const stop = () => part.destroy();
    output.once("close", stop);
    archive.addReadStream(part, path, OPTIONS);
    await finished(part);
    output.off("close", stop);
  }
  archive.end();
}

async function* limited<T extends Uint8Array>(content: AsyncIterable<T> | Iterable<T>, name: string) {
  let size = 0;
  for await (const bytes of content) {
    size += bytes.length;
    if (size > MAX_BYTES) throw new RangeError(`${name} is larger than 4 GiB`);
    yield bytes;
  }
}
