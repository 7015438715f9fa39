import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import { streamFile, writeAll } from "./object_file.ts";
import { S3Problem } from "./problem.ts";
import type { Incoming, Storage } from "./storage.ts";
import type { ListedPart } from "./xml.ts";

/** A part that was received completely. */
export interface Part {
  path: string;
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
    this.#uploads.set(uploadId, { bucket, key, headers, parts: new Map() });
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
   * Stores a received part. Replaces an earlier part with that number. Throws NoSuchUpload if the upload was aborted.
   */
  addPart(uploadId: string, partNumber: number, incoming: Incoming, part: Omit<Part, "path">): void {
    const upload = this.#uploads.get(uploadId);
    if (!upload) throw new S3Problem("NoSuchUpload");
    const path = join(this.storage.dir, "incoming", randomUUID());
    Deno.renameSync(incoming.path, path);
    const replaced = upload.parts.get(partNumber);
    upload.parts.set(partNumber, { ...part, path });
    if (replaced) Deno.removeSync(replaced.path);
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

/** Appends the parts to the file. */
export async function joinParts(parts: Part[], file: Deno.FsFile): Promise<void> {
  for (const part of parts) {
    for await (const chunk of streamFile(await Deno.open(part.path), 0, part.sizeBytes)) {
      await writeAll(file, chunk);
    }
  }
}

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

function removeParts(upload: Upload): void {
  for (const part of upload.parts.values()) Deno.removeSync(part.path);
}
