import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import { streamFile, writeAll } from "./object_file.ts";
import { S3Problem } from "./request.ts";
import type { Incoming, Storage } from "./storage.ts";
import type { ListedPart } from "./xml.ts";

/** A part that was received completely. */
export interface Part extends Place {
  sizeBytes: number;
  etag: string;
  lastModified: number;
}

/** A multipart upload between its start and its completion or abort. */
export interface Upload {
  bucket: string;
  key: string;
  headers: Record<string, string>;
  parts: Map<number, Part>;
  joined: JoinedFile;
}

const MIN_PART_BYTES = 5 * 1024 * 1024;

/** The running multipart uploads, in memory and in `incoming/`. They are lost when the process ends. */
export class Uploads {
  readonly #uploads = new Map<string, Upload>();
  readonly #completions = new Map<string, { upload: Upload; result: Promise<string> }>();

  constructor(readonly storage: Storage) {}

  create(bucket: string, key: string, headers: Record<string, string>): string {
    this.storage.bucket(bucket);
    const uploadId = randomUUID();
    const joined = new JoinedFile(join(this.storage.dir, "incoming"));
    this.#uploads.set(uploadId, { bucket, key, headers, parts: new Map(), joined });
    return uploadId;
  }

  /** Finds an upload. Throws NoSuchBucket, and NoSuchUpload, also if the upload has another key. */
  find(uploadId: string, bucket: string, key: string): Upload {
    this.storage.bucket(bucket);
    const upload = this.#uploads.get(uploadId);
    if (!upload || upload.bucket !== bucket || upload.key !== key) throw new S3Problem("NoSuchUpload");
    return upload;
  }

  /**
   * Receives a part with `receive`, which writes it to the given file and returns its ETag. Replaces an earlier part with
   * that number. Call it without an await after `find`. Throws NoSuchUpload if the upload has ended, and the
   * errors of `receive`.
   */
  async addPart(
    uploadId: string,
    upload: Upload,
    { partNumber, sizeBytes }: { partNumber: number; sizeBytes: number },
    receive: (file: Deno.FsFile) => Promise<string>,
  ): Promise<string> {
    const { joined } = upload;
    const offset = joined.take(partNumber, sizeBytes);
    if (offset === null) {
      return await this.storage.withIncoming(async ({ path, file }) => {
        const part = { offset: 0, sizeBytes, etag: await receive(file) };
        this.#requireOpen(uploadId, upload);
        const kept = join(this.storage.dir, "incoming", randomUUID());
        Deno.renameSync(path, kept);
        setPart(upload, partNumber, { ...part, path: kept });
        return part.etag;
      });
    }
    using file = Deno.openSync(joined.path, { create: true, write: true }); // no await: an abort would delete it before
    try {
      file.seekSync(offset, Deno.SeekMode.Start);
      const part = { path: joined.path, offset, sizeBytes, etag: await receive(file) };
      this.#requireOpen(uploadId, upload);
      setPart(upload, partNumber, part);
      joined.received(partNumber);
      return part.etag;
    } catch (error) {
      joined.release(partNumber);
      throw error;
    }
  }

  #requireOpen(uploadId: string, upload: Upload): void {
    if (this.#uploads.get(uploadId) !== upload) throw new S3Problem("NoSuchUpload");
  }

  /** Ends the upload and deletes its parts. Throws NoSuchUpload. */
  abort(uploadId: string, bucket: string, key: string): void {
    const upload = this.find(uploadId, bucket, key);
    this.#uploads.delete(uploadId);
    removeParts(upload);
  }

  /**
   * Completes an upload with `use`. Removes it from the map first, so that nothing can change it; puts it back if `use`
   * throws. Concurrent completions wait and get the same answer.
   * Throws NoSuchBucket, NoSuchUpload, and the errors of `choose`.
   */
  async complete(
    uploadId: string,
    { bucket, key }: { bucket: string; key: string },
    listed: ListedPart[],
    use: (parts: Part[], upload: Upload) => Promise<string>,
  ): Promise<string> {
    const running = this.#completions.get(uploadId);
    if (running?.upload.bucket === bucket && running.upload.key === key) return await running.result;
    const upload = this.find(uploadId, bucket, key);
    const chosen = choose(upload, listed);
    this.#uploads.delete(uploadId);
    const result = use(chosen, upload);
    this.#completions.set(uploadId, { upload, result });
    try {
      const etag = await result;
      removeParts(upload);
      return etag;
    } catch (error) {
      this.#uploads.set(uploadId, upload);
      throw error;
    } finally {
      this.#completions.delete(uploadId);
    }
  }
}

function setPart(upload: Upload, partNumber: number, part: Omit<Part, "lastModified">): void {
  const replaced = upload.parts.get(partNumber);
  upload.parts.set(partNumber, { ...part, lastModified: Date.now() });
  if (replaced && replaced.path !== upload.joined.path) Deno.removeSync(replaced.path);
}

/**
 * Runs `use` with a file that consists of the parts and is at its end. It is the file in which they were received, if
 * that has nothing else; otherwise they are copied.
 */
export async function withJoined<T>(
  storage: Storage,
  { joined }: Upload,
  parts: Part[],
  use: (incoming: Incoming) => Promise<T>,
): Promise<T> {
  if (joined.consistsOf(parts)) {
    using file = await Deno.open(joined.path, { write: true });
    await file.truncate(totalBytes(parts)); // what a failed part or completion has left behind the last part
    await file.seek(0, Deno.SeekMode.End);
    return await use({ path: joined.path, file });
  }
  return await storage.withIncoming(async (incoming) => {
    for (const { path, offset, sizeBytes } of parts) {
      for await (const chunk of streamFile(await Deno.open(path), offset, sizeBytes)) {
        await writeAll(incoming.file, chunk);
      }
    }
    return await use(incoming);
  });
}

export const totalBytes = (parts: Part[]): number => parts.reduce((sum, part) => sum + part.sizeBytes, 0);

/** S3's ETag of a multipart object: the MD5 of the parts' MD5s, then the number of parts. */
export function multipartEtag(parts: Part[]): string {
  const md5 = createHash("md5");
  for (const part of parts) md5.update(part.etag, "hex");
  return `${md5.digest("hex")}-${parts.length}`;
}

/** Returns the parts that a completion lists. Throws InvalidPartOrder, InvalidPart, EntityTooSmall. */
function choose(upload: Upload, listed: ListedPart[]): Part[] {
  return listed.map(({ partNumber, etag }, i) => {
    const previous = listed[i - 1];
    if (previous && previous.partNumber >= partNumber) throw new S3Problem("InvalidPartOrder");
    const part = upload.parts.get(partNumber);
    if (!part || part.etag !== etag) throw new S3Problem("InvalidPart");
    if (i < listed.length - 1 && part.sizeBytes < MIN_PART_BYTES) throw new S3Problem("EntityTooSmall");
    return part;
  });
}

/** Deletes the files of the parts, also those that are not in the object. */
function removeParts({ parts, joined }: Upload): void {
  const paths = new Set(parts.values().map(({ path }) => path));
  for (const path of paths.add(joined.path)) removeIfPresent(path);
}

function removeIfPresent(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error; // it became the object, or no part was received
  }
}

/** The place of a part's bytes. */
interface Place {
  path: string;
  offset: number;
}

const MAX_FILE_BYTES = 5 * 1024 ** 4;

/**
 * The file in which the parts of an upload are received at their places, so that they become one object without a copy.
 * Part n begins at n - 1 times the size of the part that came first, because clients send parts of equal size. A part
 * that is larger, or was sent before, has no place here.
 */
class JoinedFile {
  readonly path: string;
  #partBytes = 0;
  /** The taken places by number of the part, and whether the part has been received. */
  readonly #places = new Map<number, "receiving" | "received">();

  constructor(dir: string) {
    this.path = join(dir, randomUUID());
  }

  /** Takes the place of a part. The caller must call `received` or `release`. @returns its offset; null if it has none */
  take(partNumber: number, sizeBytes: number): number | null {
    if (this.#places.size === 0) this.#partBytes = sizeBytes;
    const offset = (partNumber - 1) * this.#partBytes;
    const fits = sizeBytes > 0 && sizeBytes <= this.#partBytes && offset + sizeBytes <= MAX_FILE_BYTES;
    if (!fits || this.#places.has(partNumber)) return null;
    this.#places.set(partNumber, "receiving");
    return offset;
  }

  received(partNumber: number): void {
    this.#places.set(partNumber, "received");
  }

  release(partNumber: number): void {
    this.#places.delete(partNumber);
  }

  /** True if the file consists of these parts in this order, and no request writes to it. */
  consistsOf(parts: readonly (Place & { sizeBytes: number })[]): boolean {
    let end = 0;
    for (const { path, offset, sizeBytes } of parts) {
      if (path !== this.path || offset !== end) return false;
      end += sizeBytes;
    }
    // A place without one of these parts belongs to a part that is being received, was replaced or is not wanted.
    return this.#places.size === parts.length &&
      this.#places.values().every((state) => state === "received");
  }
}
