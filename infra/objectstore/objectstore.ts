import { type Clock, systemClock } from "../../domain/shared/clock.ts";
import { assertConfig, assertKey, encodeRfc3986 } from "./address.ts";
import {
  ObjectChanged,
  ObjectNotFound,
  ObjectStoreError,
  ObjectStoreRefused,
  ObjectStoreUnavailable,
} from "./errors.ts";
import {
  abortUpload,
  completeUpload,
  createUpload,
  etagOfResult,
  listParts,
  type StoredPart,
} from "./multipart.ts";
import { listUploads, type UnfinishedUpload } from "./list_uploads.ts";
import { writeStream } from "./multipart_write.ts";
import { presignDownload, presignPart, presignUpload, urlSigning } from "./presign.ts";
import { BoundedS3Client, type CallBounds } from "./s3_client.ts";
import { StoreClock } from "./store_clock.ts";
import { METADATA_TIMEOUT_MS } from "./timeouts.ts";
import { unquoteEtag } from "./xml.ts";

export {
  ObjectChanged,
  ObjectNotFound,
  ObjectStoreError,
  ObjectStoreRefused,
  ObjectStoreUnavailable,
} from "./errors.ts";

/** Where the bucket is. `endpoint` is called by the service, URLs are signed for `publicEndpoint`. */
export interface ObjectStoreConfig {
  endpoint: string;
  publicEndpoint: string;
  region: string;
  bucket: string;
  accessKey: string;
  secretKey: string;
  /** true: `endpoint/bucket/key`; false: `bucket.endpoint/key` (virtual-host). */
  pathStyle: boolean;
}

/** An object at rest. The ETag is without quotes; it is opaque, and not always an MD5. */
export interface StoredObject {
  sizeBytes: number;
  etag: string;
}

export interface SignedUrl {
  url: string;
  expiresAt: Date;
}

/** A signed PUT; the uploader must send `requiredHeaders` exactly so. */
export interface SignedUpload extends SignedUrl {
  requiredHeaders: Record<string, string>;
}

/** Bytes `start` to `end`, both included; without `end` to the last one. A start past the end reads nothing. */
export interface ByteRange {
  start: number;
  end?: number;
}

/**
 * One bucket. Every method throws ObjectStoreUnavailable when the store does not answer, ObjectStoreRefused when it
 * refuses, TypeError for an argument that can never work.
 */
export interface ObjectStore {
  /** Creates the bucket when there is none (development). May be called again. */
  ensureBucket(): Promise<void>;
  /** Throws unless the store answers, accepts the credentials and has the bucket. */
  ping(signal?: AbortSignal): Promise<void>;
  /** Signs a PUT of exactly this size and type; the uploader must send `requiredHeaders`. */
  signUpload(
    key: string,
    o: { contentType: string; sizeBytes: number; expiresInSeconds: number; now?: Date },
  ): Promise<SignedUpload>;
  /** Begins an upload by parts. @returns the id they are sent under, which `signPart` puts into URLs. */
  startParts(key: string, o: { contentType: string }): Promise<string>;
  /** Signs a PUT of exactly this size as one part. */
  signPart(
    key: string,
    o: { uploadId: string; partNumber: number; sizeBytes: number; expiresInSeconds: number; now?: Date },
  ): Promise<SignedUpload>;
  /**
   * Joins parts 1 to n, by their ETags, to the object. "unlike": the store does not hold the parts so named, and the
   * upload goes on; "gone": there is no such upload, because it was joined before or has been ended.
   */
  joinParts(
    key: string,
    o: { uploadId: string; etags: readonly string[] },
  ): Promise<"joined" | "unlike" | "gone">;
  /** The parts received so far, at most 1,000; none when there is no such upload (any more). */
  listParts(key: string, uploadId: string): Promise<StoredPart[]>;
  /** Ends an upload and throws its parts away; one that is over is fine. */
  abortParts(key: string, uploadId: string): Promise<void>;
  /** Signs a GET that is saved as `fileName`. */
  signDownload(
    key: string,
    o: { fileName: string; expiresInSeconds: number; now?: Date },
  ): Promise<SignedUrl>;
  head(key: string): Promise<StoredObject | null>;
  /** Streams the stored bytes. Throws ObjectNotFound. */
  read(key: string, o?: { range?: ByteRange; signal?: AbortSignal }): Promise<ReadableStream<Uint8Array>>;
  /**
   * Copies the bytes at the store, and nothing else the uploader said: the copy has no headers of the original.
   * Throws ObjectChanged when the source has another ETag, ObjectNotFound when it is absent.
   */
  copy(from: string, to: string, o: { ifEtag: string }): Promise<StoredObject>;
  /** Writes a stream of any length with flat memory. A failed write leaves nothing behind. */
  write(
    key: string,
    body: ReadableStream<Uint8Array>,
    o: { contentType: string; signal?: AbortSignal },
  ): Promise<StoredObject>;
  /** Deletes; an absent object is fine. */
  delete(key: string): Promise<void>;
  /** Every object whose key begins with `prefix`, in the order of the store, page by page. */
  list(prefix: string): AsyncIterable<{ key: string; sizeBytes: number; lastModified: Date }>;
  /** Every multipart upload under `prefix` that is not over. Throws ObjectStoreRefused where the store lists none. */
  listUploads(prefix: string): AsyncIterable<UnfinishedUpload>;
}

const PING_TIMEOUT_MS = 5_000;
const CONTENT_TIMEOUT_MS = 30_000; // for the first byte of a content or listing, and between two of its chunks
const COPY_TIMEOUT_MS = 300_000; // the store copies at its own speed before it answers
const UNLIKE = new Set(["InvalidPart", "InvalidPartOrder", "EntityTooSmall"]); // what a completion's list may be
const COPIED_CONTENT_TYPE = "application/octet-stream"; // what signDownload answers anyway

/**
 * Binds the interface to a bucket. Nothing is sent yet. All times are by the clock of the `service`, whatever the
 * store's own shows. Throws TypeError for a configuration that cannot work.
 */
export function connectObjectStore(config: ObjectStoreConfig, service: Clock = systemClock): ObjectStore {
  assertConfig(config);
  const clock = new StoreClock(service);
  const signing = urlSigning(config, clock);
  const clientFor = (bounds: CallBounds) => new BoundedS3Client(config, bounds, clock);
  const calling = (action: string, signal?: AbortSignal) =>
    clientFor({ action, timeoutMs: METADATA_TIMEOUT_MS, signal });

  async function ping(signal?: AbortSignal): Promise<void> {
    const action = "reaching the bucket";
    try {
      await clientFor({ action, timeoutMs: PING_TIMEOUT_MS, signal })
        .makeRequest({ method: "HEAD", objectName: "" });
    } catch (error) {
      if (!(error instanceof ObjectNotFound)) throw error;
      throw new ObjectStoreRefused(`${action}: the object store has no such bucket`, 404, "NoSuchBucket");
    }
  }

  async function head(key: string): Promise<StoredObject | null> {
    assertKey(key);
    try {
      const found = await calling("looking an object up").statObject(key);
      return { sizeBytes: found.size, etag: unquoteEtag(found.etag) };
    } catch (error) {
      if (!(error instanceof ObjectNotFound)) throw error;
      await ping(); // a HEAD has no error code: a missing bucket must not pass for a missing object
      return null;
    }
  }

  async function copyObject(
    from: string,
    to: string,
    conditions: Record<string, string>,
  ): Promise<StoredObject> {
    assertKey(from);
    assertKey(to);
    const action = "copying an object";
    const source = `${config.bucket}/${from.split("/").map(encodeRfc3986).join("/")}`;
    const response = await clientFor({ action, timeoutMs: COPY_TIMEOUT_MS }).makeRequest({
      method: "PUT",
      objectName: to,
      headers: new Headers({
        "x-amz-copy-source": source,
        ...conditions,
        "x-amz-metadata-directive": "REPLACE",
        "content-type": COPIED_CONTENT_TYPE,
      }),
      returnBody: true,
    });
    etagOfResult(action, await response.text());
    const copied = await head(to);
    if (!copied) throw new ObjectNotFound(`${action}: the copy is not there, expected it after the 200`);
    return copied;
  }

  return {
    ping,
    head,

    async ensureBucket() {
      try {
        await ping();
      } catch (error) {
        if (!(error instanceof ObjectStoreRefused && error.code === "NoSuchBucket")) throw error;
        await calling("creating the bucket").makeBucket(config.bucket).catch((refusal) => {
          const lostRace = refusal instanceof ObjectStoreRefused && refusal.status === 409;
          if (!lostRace) throw refusal;
        });
      }
    },

    signUpload: (key, o) => presignUpload(signing, key, o),
    signDownload: (key, o) => presignDownload(signing, key, o),
    signPart: (key, o) => presignPart(signing, key, o),

    async startParts(key, o) {
      assertKey(key);
      return await createUpload({ key, clientFor }, o.contentType);
    },

    async joinParts(key, o) {
      assertKey(key);
      try {
        await completeUpload({ key, clientFor }, o.uploadId, o.etags);
        return "joined";
      } catch (error) {
        if (isGone(error)) return "gone";
        if (error instanceof ObjectStoreRefused && UNLIKE.has(error.code)) return "unlike";
        throw error;
      }
    },

    async listParts(key, uploadId) {
      assertKey(key);
      return await listParts({ key, clientFor }, uploadId).catch((error) => {
        if (isGone(error)) return [];
        throw error;
      });
    },

    async abortParts(key, uploadId) {
      assertKey(key);
      await abortUpload({ key, clientFor }, uploadId).catch((error) => {
        if (!isGone(error)) throw error;
      });
    },

    async read(key, o = {}) {
      assertKey(key);
      const headers = new Headers();
      if (o.range) headers.set("range", `bytes=${o.range.start}-${o.range.end ?? ""}`);
      const bounds = {
        action: "reading an object",
        timeoutMs: CONTENT_TIMEOUT_MS,
        streamed: true,
        signal: o.signal,
      };
      try {
        const response = await clientFor(bounds).makeRequest({
          method: "GET",
          objectName: key,
          headers,
          statusCode: o.range ? 206 : 200,
          returnBody: true,
        });
        return response.body ?? emptyStream();
      } catch (error) {
        if (error instanceof ObjectStoreRefused && error.status === 416) return emptyStream();
        throw error;
      }
    },

    async copy(from, to, o) {
      try {
        return await copyObject(from, to, { "x-amz-copy-source-if-match": `"${o.ifEtag}"` });
      } catch (error) {
        // OpenStack Swift compares another ETag here than it tells, when the object was made of parts. The condition can
        // then be looked at from outside: such an ETag never comes back once the object was replaced.
        const found = async () => (await head(from))?.etag;
        if (!(error instanceof ObjectChanged && /-\d+$/.test(o.ifEtag) && await found() === o.ifEtag)) {
          throw error;
        }
        const copied = await copyObject(from, to, {});
        if (await found() !== o.ifEtag) throw error;
        return copied;
      }
    },

    write(key, body, o) {
      assertKey(key);
      return writeStream({ key, contentType: o.contentType, signal: o.signal, clientFor }, body);
    },

    async delete(key) {
      assertKey(key);
      await calling("deleting an object").deleteObject(key).catch((error) => {
        if (!(error instanceof ObjectNotFound)) throw error;
      });
    },

    async *listUploads(prefix) {
      for await (const upload of listUploads(clientFor, prefix)) {
        yield { ...upload, startedAt: clock.toService(upload.startedAt) };
      }
    },

    async *list(prefix) {
      const action = "listing objects";
      try {
        for await (
          const found of clientFor({ action, timeoutMs: CONTENT_TIMEOUT_MS }).listObjects({ prefix })
        ) {
          yield { key: found.key, sizeBytes: found.size, lastModified: clock.toService(found.lastModified) };
        }
      } catch (error) {
        if (error instanceof ObjectStoreError) throw error;
        // The library quotes the whole answer, keys included, in what it throws.
        throw new ObjectStoreUnavailable(
          `${action}: the object store answered something else than a listing`,
        );
      }
    },
  };
}

/** Swift says NoSuchKey of an upload that was joined. */
const isGone = (error: unknown) =>
  error instanceof ObjectNotFound || (error instanceof ObjectStoreRefused && error.code === "NoSuchUpload");

function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}
