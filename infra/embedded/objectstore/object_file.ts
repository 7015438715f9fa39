/** What is known of an object besides its bytes. */
export interface ObjectMeta {
  key: string;
  sizeBytes: number;
  /** Hex without quotes, `-N` at the end when made of N parts. */
  etag: string;
  /** ms since the epoch. */
  lastModified: number;
  /** content-type, the other standard headers S3 keeps, and x-amz-meta-*. */
  headers: Record<string, string>;
}

const MAGIC = new TextEncoder().encode("STWOBJ01");
const FOOTER_BYTES = MAGIC.length + 4;

/**
 * An object is one file: its bytes, then its metadata as JSON, then the JSON's length (4 bytes, big-endian) and a magic
 * word. Bytes and metadata thus become visible, and vanish, in one rename; a file cut short is recognised.
 */
export async function writeTrailer(file: Deno.FsFile, meta: ObjectMeta): Promise<void> {
  const json = new TextEncoder().encode(JSON.stringify(meta));
  const footer = new Uint8Array(FOOTER_BYTES);
  new DataView(footer.buffer).setUint32(0, json.length);
  footer.set(MAGIC, 4);
  await writeAll(file, json);
  await writeAll(file, footer);
}

/** Reads the metadata back; null when the file is not a whole object. */
export async function readTrailer(path: string): Promise<ObjectMeta | null> {
  using file = await Deno.open(path);
  const { size } = await file.stat();
  if (size < FOOTER_BYTES) return null;
  const footer = await readAt(file, size - FOOTER_BYTES, FOOTER_BYTES);
  const jsonBytes = new DataView(footer.buffer).getUint32(0);
  if (MAGIC.some((byte, i) => footer[4 + i] !== byte) || jsonBytes > size - FOOTER_BYTES) return null;
  const json = await readAt(file, size - FOOTER_BYTES - jsonBytes, jsonBytes);
  const meta: ObjectMeta = JSON.parse(new TextDecoder().decode(json));
  return meta.sizeBytes === size - FOOTER_BYTES - jsonBytes ? meta : null;
}

export async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) written += await file.write(bytes.subarray(written));
}

async function readAt(file: Deno.FsFile, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
  await file.seek(offset, Deno.SeekMode.Start);
  const bytes = new Uint8Array(length);
  for (let filled = 0; filled < length;) {
    const read = await file.read(bytes.subarray(filled));
    if (read === null) break;
    filled += read;
  }
  return bytes;
}

const CHUNK_BYTES = 128 * 1024;

/** Streams `length` bytes from `start`, one chunk per pull, and closes the file when read, failed or cancelled. */
export function streamFile(
  file: Deno.FsFile,
  start: number,
  length: number,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let left = length;
  let positioned = false;
  return new ReadableStream({
    async pull(controller) {
      try {
        if (!positioned) await file.seek(start, Deno.SeekMode.Start);
        positioned = true;
        const chunk = new Uint8Array(Math.min(left, CHUNK_BYTES));
        const read = left === 0 ? 0 : await file.read(chunk);
        if (read === null) throw new Error(`object file: ended with ${left} bytes still to come`);
        left -= read;
        if (read > 0) controller.enqueue(chunk.subarray(0, read));
        if (left > 0) return;
        file.close();
        controller.close();
      } catch (error) {
        file.close();
        throw error;
      }
    },
    cancel() {
      file.close();
    },
  }, { highWaterMark: 0 });
}
