import { assertConfig, assertKey, encodeRfc3986 } from "./address.ts";
import { ObjectNotFound, ObjectStoreError, ObjectStoreRefused, ObjectStoreUnavailable } from "./errors.ts";
import { etagOfResult, writeStream } from "./multipart_write.ts";
import { presignDownload, presignUpload } from "./presign.ts";
import { BoundedS3Client, type CallBounds } from "./s3_client.ts";
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
  ): Promise<SignedUrl & { requiredHeaders: Record<string, string> }>;
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
}

const PING_TIMEOUT_MS = 5_000;
const CALL_TIMEOUT_MS = 30_000;
const COPY_TIMEOUT_MS = 300_000; // the store copies at its own speed before it answers
const COPIED_CONTENT_TYPE = "application/octet-stream"; // what signDownload answers anyway

/** Binds the interface to a bucket. Nothing is sent yet. Throws TypeError for a configuration that cannot work. */
export function connectObjectStore(config: ObjectStoreConfig): ObjectStore {
  assertConfig(config);
  const clientFor = (bounds: CallBounds) => new BoundedS3Client(config, bounds);
  const calling = (action: string, signal?: AbortSignal) =>
    clientFor({ action, timeoutMs: CALL_TIMEOUT_MS, signal });

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

    signUpload: (key, o) => presignUpload(config, key, o),
    signDownload: (key, o) => presignDownload(config, key, o),

    async read(key, o = {}) {
      assertKey(key);
      const headers = new Headers();
      if (o.range) headers.set("range", `bytes=${o.range.start}-${o.range.end ?? ""}`);
      const bounds = {
        action: "reading an object",
        timeoutMs: CALL_TIMEOUT_MS,
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
      assertKey(from);
      assertKey(to);
      const action = "copying an object";
      const source = `${config.bucket}/${from.split("/").map(encodeRfc3986).join("/")}`;
      const response = await clientFor({ action, timeoutMs: COPY_TIMEOUT_MS }).makeRequest({
        method: "PUT",
        objectName: to,
        headers: new Headers({
          "x-amz-copy-source": source,
          "x-amz-copy-source-if-match": `"${o.ifEtag}"`,
          "x-amz-metadata-directive": "REPLACE",
          "content-type": COPIED_CONTENT_TYPE,
        }),
        returnBody: true,
      });
      etagOfResult(action, await response.text());
      const copied = await head(to);
      if (!copied) throw new ObjectNotFound(`${action}: the copy is not there, expected it after the 200`);
      return copied;
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

    async *list(prefix) {
      const action = "listing objects";
      try {
        for await (const found of calling(action).listObjects({ prefix })) {
          yield { key: found.key, sizeBytes: found.size, lastModified: found.lastModified };
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

function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}
