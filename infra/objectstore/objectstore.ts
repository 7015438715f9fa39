import { type Clock, systemClock } from "../clock.ts";
import { assertConfig, assertKey, encodeRfc3986, type ObjectStoreConfig } from "./address.ts";
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
  METADATA_TIMEOUT_MS,
  type StoredObject,
  type StoredPart,
  unquoteEtag,
  writeStream,
  xmlText,
  xmlTexts,
} from "./multipart.ts";
import {
  presignDownload,
  presignInline,
  presignPart,
  presignUpload,
  QuerySigner,
  type SignedUpload,
  type SignedUrl,
  type Validity,
} from "./presign.ts";
import { BoundedS3Client, type CallBounds } from "./s3_client.ts";
import { StoreClock } from "./store_clock.ts";

export {
  isStoreAway,
  ObjectChanged,
  ObjectNotFound,
  ObjectStoreError,
  ObjectStoreRefused,
  ObjectStoreUnavailable,
} from "./errors.ts";

/** Bytes `start` to `end`, inclusive; without `end`, to the last byte. A start beyond the last byte reads nothing. */
export interface ByteRange {
  start: number;
  end?: number;
}

/**
 * One bucket. Every method throws ObjectStoreUnavailable if the store does not answer, ObjectStoreRefused if it refuses
 * the request, and TypeError for an invalid argument.
 */
export interface ObjectStore {
  /** Creates the bucket if it does not exist (development). */
  ensureBucket(): Promise<void>;
  /** Throws unless the store answers, accepts the credentials and has the bucket. */
  ping(): Promise<void>;
  /** Signs a PUT of exactly this size and content type. */
  signUpload(key: string, o: Validity & { contentType: string; sizeBytes: number }): SignedUpload;
  /** Starts a multipart upload. @returns its id, for `signPart` */
  startParts(key: string, o: { contentType: string }): Promise<string>;
  /** Signs a PUT of exactly this size, and of the content with this SHA-256 if one is given, as one part. */
  signPart(
    key: string,
    o: Validity & { uploadId: string; partNumber: number; sizeBytes: number; sha256?: string },
  ): SignedUpload;
  /**
   * Completes a multipart upload from parts 1 to n with these ETags. Returns "mismatch" if the stored parts differ;
   * then the upload stays open. Returns "gone" if the upload does not exist, because it was completed or aborted before.
   */
  joinParts(
    key: string,
    o: { uploadId: string; etags: readonly string[] },
  ): Promise<"joined" | "mismatch" | "gone">;
  /** Lists the parts received so far, at most 1,000; empty if the upload does not exist. */
  listParts(key: string, uploadId: string): Promise<StoredPart[]>;
  /** Aborts an upload and deletes its parts. Does nothing if the upload does not exist. */
  abortParts(key: string, uploadId: string): Promise<void>;
  /** Signs a GET whose content is saved as `fileName`. */
  signDownload(key: string, o: Validity & { fileName: string }): SignedUrl;
  /** Signs a GET that shows the content in the browser with this type; the URL is the same all day (UTC). */
  signInline(key: string, o: Validity & { contentType: string }): SignedUrl;
  /** Looks up an object; null if there is none. */
  head(key: string): Promise<StoredObject | null>;
  /** Streams the stored bytes. Throws ObjectNotFound. */
  read(key: string, o?: { range?: ByteRange; signal?: AbortSignal }): Promise<ReadableStream<Uint8Array>>;
  /**
   * Copies an object inside the store. Only the bytes are copied, not the headers that the uploader sent.
   * Throws ObjectChanged if the source has another ETag, ObjectNotFound if it does not exist.
   */
  copy(from: string, to: string, o: { ifEtag: string }): Promise<StoredObject>;
  /** Writes a stream of any length with constant memory. A failed write leaves nothing in the store. */
  write(
    key: string,
    body: ReadableStream<Uint8Array>,
    o: { contentType: string; signal?: AbortSignal },
  ): Promise<StoredObject>;
  /** Deletes an object. Does nothing if it does not exist. */
  delete(key: string): Promise<void>;
  /** Yields every object whose key starts with `prefix`, in the store's order. Requests one page at a time. */
  list(prefix: string): AsyncIterable<{ key: string; sizeBytes: number; lastModified: Date }>;
  /**
   * Yields every unfinished multipart upload under `prefix`. Throws ObjectStoreRefused if the store cannot list
   * uploads.
   */
  listUploads(prefix: string): AsyncIterable<UnfinishedUpload>;
}

const PING_TIMEOUT_MS = 5_000;
const CONTENT_TIMEOUT_MS = 30_000; // until the first byte of an object or listing, and between two chunks
const COPY_TIMEOUT_MS = 300_000; // the store answers after it has copied
const MISMATCHES = new Set(["InvalidPart", "InvalidPartOrder", "EntityTooSmall"]);
const COPIED_CONTENT_TYPE = "application/octet-stream"; // signDownload overrides the content type anyway

/**
 * Creates the client of a bucket. Sends no request. All times in arguments and results are of the `service` clock, even
 * if the store's clock differs. Throws TypeError for an invalid configuration.
 */
export function connectObjectStore(config: ObjectStoreConfig, service: Clock = systemClock): ObjectStore {
  assertConfig(config);
  const clock = new StoreClock(service);
  const signing = { signer: new QuerySigner(config), clock };
  const clientFor = (bounds: CallBounds) => new BoundedS3Client(config, bounds, clock);
  const calling = (action: string) => clientFor({ action, timeoutMs: METADATA_TIMEOUT_MS });

  async function ping(): Promise<void> {
    const action = "reaching the bucket";
    try {
      await clientFor({ action, timeoutMs: PING_TIMEOUT_MS }).makeRequest({ method: "HEAD", objectName: "" });
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
      await ping(); // a HEAD answer has no error code, so this tells a missing bucket from a missing object
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
    if (!copied) {
      throw new ObjectNotFound(`${action}: the copy does not exist, expected it after the status 200`);
    }
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
    signInline: (key, o) => presignInline(signing, key, o),
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
        if (error instanceof ObjectStoreRefused && MISMATCHES.has(error.code)) return "mismatch";
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
        // For objects made of parts, OpenStack Swift compares another ETag here than it reports. Then the condition is
        // checked before and after the copy. This is safe: such an ETag does not return after the object was replaced.
        const currentEtag = async () => (await head(from))?.etag;
        if (!(error instanceof ObjectChanged && /-\d+$/.test(o.ifEtag) && await currentEtag() === o.ifEtag)) {
          throw error;
        }
        const copied = await copyObject(from, to, {});
        if (await currentEtag() !== o.ifEtag) throw error;
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
        // The error of the library would contain the whole answer, including object keys.
        throw new ObjectStoreUnavailable(`${action}: the object store's answer is not a listing`);
      }
    },
  };
}

/** True if the upload does not exist. OpenStack Swift answers NoSuchKey for a completed upload. */
const isGone = (error: unknown) =>
  error instanceof ObjectNotFound || (error instanceof ObjectStoreRefused && error.code === "NoSuchUpload");

function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}

/** A multipart upload that was started and neither completed nor aborted. */
interface UnfinishedUpload {
  key: string;
  uploadId: string;
  startedAt: Date;
}

/**
 * Yields every unfinished upload under a prefix. Requests one page at a time.
 * @throws ObjectStoreRefused if the store cannot list uploads, ObjectStoreUnavailable
 */
async function* listUploads(
  clientFor: (bounds: CallBounds) => BoundedS3Client,
  prefix: string,
): AsyncGenerator<UnfinishedUpload> {
  const action = "listing multipart uploads";
  let marker: Record<string, string> = {};
  for (;;) {
    const response = await clientFor({ action, timeoutMs: METADATA_TIMEOUT_MS }).makeRequest({
      method: "GET",
      objectName: "",
      query: { uploads: "", prefix, ...marker },
      returnBody: true,
    });
    const xml = await response.text();
    if (!/<ListMultipartUploadsResult[\s>]/.test(xml)) {
      throw new ObjectStoreUnavailable(`${action}: the object store's answer is not a listing`);
    }
    for (const upload of xmlTexts(xml, "Upload")) {
      const key = xmlText(upload, "Key");
      const uploadId = xmlText(upload, "UploadId");
      const startedAt = new Date(xmlText(upload, "Initiated") ?? "");
      if (key && uploadId && !Number.isNaN(startedAt.getTime())) yield { key, uploadId, startedAt };
    }
    const next = {
      "key-marker": xmlText(xml, "NextKeyMarker") ?? "",
      "upload-id-marker": xmlText(xml, "NextUploadIdMarker") ?? "",
    };
    const isUnchanged = next["key-marker"] === marker["key-marker"] &&
      next["upload-id-marker"] === marker["upload-id-marker"];
    if (xmlText(xml, "IsTruncated") !== "true" || isUnchanged || next["key-marker"] === "") return;
    marker = next;
  }
}
