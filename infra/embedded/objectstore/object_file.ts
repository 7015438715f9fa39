/** Metadata of an object. */
export interface ObjectMeta {
  key: string;
  sizeBytes: number;
  /** Hex without quotes; ends with `-N` for a multipart object of N parts. */
  etag: string;
  /** ms since the epoch. */
  lastModified: number;
  /** content-type, the other standard headers S3 keeps, and x-amz-meta-*. */
  headers: Record<string, string>;
}

const MAGIC = new TextEncoder().encode("STWOBJ01");
const FOOTER_BYTES = MAGIC.length + 4;

/**
 * Appends the metadata to an object's file. The file has the object's bytes, the metadata as JSON, the length of the
 * JSON (4 bytes, big-endian) and a magic number. So bytes and metadata appear and disappear together, and a truncated
 * file is detected.
 */
export async function writeTrailer(file: Deno.FsFile, meta: ObjectMeta): Promise<void> {
  const json = new TextEncoder().encode(JSON.stringify(meta));
  const footer = new Uint8Array(FOOTER_BYTES);
  new DataView(footer.buffer).setUint32(0, json.length);
  footer.set(MAGIC, 4);
  await writeAll(file, json);
  await writeAll(file, footer);
}

/** Reads the metadata of an object's file; null if the file is not complete. */
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

/**
 * Streams `length` bytes from `start`, one chunk per pull. Closes the file at the end, after an error and when
 * cancelled.
 */
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
        if (read === null) throw new Error(`object file: ended ${left} bytes too early`);
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
