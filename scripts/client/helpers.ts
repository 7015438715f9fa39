// Operations that need more than one request: uploads and event streams. Copied unchanged into the package.
import { pause, StewardProblem, type Transport } from "./transport.ts";

/** A file to upload. */
export interface Upload {
  /** One of the service's profiles, such as `document` or `image`. */
  profile: string;
  fileName: string;
  contentType: string;
  content: Blob | Uint8Array | ArrayBuffer;
  /**
   * Multipart upload: true for a number of parts that suits the size, or the number. It goes on over a connection that
   * breaks, and can be continued later (`fileId`). The store checks each part by its SHA-256.
   */
  parts?: boolean | number;
  isProduct?: boolean;
  /** Makes a retry of the reservation safe. */
  idempotencyKey?: string;
  /** Continues a multipart upload that was paused (by `signal`) or lost, such as by a reload of the page. */
  fileId?: string;
  /** Called with the id of the reserved file. Keep it to continue a multipart upload later. */
  onReserved?: (fileId: string) => void;
  signal?: AbortSignal;
  /** Called after every uploaded part, with bytes sent and total bytes. */
  onProgress?: (sent: number, total: number) => void;
}

interface Target {
  uploadUrl: string;
  requiredHeaders: Record<string, string>;
}

interface Part extends Target {
  partNumber: number;
  sizeBytes: number;
}

interface SentPart extends Part {
  bytes: Blob;
}

interface Progress {
  received: { partNumber: number; sizeBytes: number; etag: string }[];
  parts: Part[];
}

const ATTEMPTS = 3;
/** Attempts in a row without a new part, after which a multipart upload fails. */
const ATTEMPTS_OF_PART = 10;
/** Parts whose checksums are sent at once. */
const PARTS_AT_ONCE = 8;
const RECONNECT_MS = 2_000;
const LONGEST_PAUSE_MS = 30_000;

/**
 * Reserves a file, uploads its content to the object store, and completes it. Returns the file; its scan has started.
 */
export async function upload<R>(transport: Transport, file: Upload): Promise<R> {
  const { profile, fileName, contentType, parts, isProduct, idempotencyKey, signal } = file;
  const content = file.content instanceof Blob
    ? file.content
    : new Blob([file.content as Uint8Array<ArrayBuffer>]);
  const options = signal ? { signal } : {};
  const reserved = file.fileId ? null : await transport.request<Target & { fileId: string }>({
    method: "POST",
    path: "/api/v1/files",
    body: { profile, fileName, contentType, sizeBytes: content.size, isProduct, parts },
    options: { ...options, ...(idempotencyKey ? { idempotencyKey } : {}) },
  });
  const path = `/api/v1/files/${reserved?.fileId ?? file.fileId}`;
  if (reserved) file.onReserved?.(reserved.fileId);
  const inParts = parts || !reserved;
  if (!inParts) {
    await put(reserved, content, signal);
    file.onProgress?.(content.size, content.size);
  }
  const received = inParts ? await sendParts(transport, `${path}/parts`, content, file) : [];
  const body = received.length > 0
    ? { body: { parts: received.map(({ partNumber, etag }) => ({ partNumber, etag })) } }
    : {};
  return await transport.request<R>({ method: "POST", path: `${path}/complete`, ...body, options });
}

/** Sends the parts that the store lacks, until it has all. @returns all parts; none if the upload was confirmed before */
async function sendParts(
  transport: Transport,
  path: string,
  content: Blob,
  { signal, onProgress }: Upload,
): Promise<Progress["received"]> {
  const options = signal ? { signal } : {};
  let next: SentPart[] = [];
  let most = 0;
  let isChecked = true;
  for (let failures = 0;;) {
    try {
      const checksums = isChecked ? await checksumsOf(next) : [];
      const { received, parts } = await transport.request<Progress>({
        method: "POST",
        path,
        body: { checksums },
        options,
      });
      if (parts.length === 0) return received;
      if (received.length > most) failures = 0;
      most = Math.max(most, received.length);
      let sent = received.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      onProgress?.(sent, content.size);
      const signed = new Set(next.map(({ partNumber }) => partNumber));
      const missing = withContent(parts, content, received.length + parts.length);
      next = missing.slice(0, PARTS_AT_ONCE); // a failure tries these again
      for (const part of missing.filter(({ partNumber }) => signed.has(partNumber))) {
        await put(part, part.bytes, signal);
        onProgress?.(sent += part.sizeBytes, content.size);
      }
      next = missing.filter(({ partNumber }) => !signed.has(partNumber)).slice(0, PARTS_AT_ONCE);
    } catch (error) {
      const isFinal = error instanceof StewardProblem && error.status < 500;
      if (error instanceof StorageRefused && error.status === 403) isChecked = false; // some stores know no checksums
      if (signal?.aborted || isFinal || ++failures === ATTEMPTS_OF_PART) throw error;
      await pause(Math.min(RECONNECT_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS), signal);
    }
  }
}

/** Adds the bytes of each part. All parts but the last have one size, so the place of a part follows from its number. */
const withContent = (parts: Part[], content: Blob, count: number): SentPart[] =>
  parts.map((part) => {
    const { partNumber, sizeBytes } = part;
    const start = partNumber === count ? content.size - sizeBytes : (partNumber - 1) * sizeBytes;
    return { ...part, bytes: content.slice(start, start + sizeBytes) };
  });

/** The SHA-256 of parts, in hexadecimal digits; empty on a page without https, where browsers compute none. */
async function checksumsOf(parts: SentPart[]): Promise<{ partNumber: number; sha256: string }[]> {
  const { subtle } = globalThis.crypto as { subtle?: SubtleCrypto };
  if (!subtle) return [];
  const checksums = [];
  for (const { partNumber, bytes } of parts) {
    const digest = new Uint8Array(await subtle.digest("SHA-256", await bytes.arrayBuffer()));
    const sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    checksums.push({ partNumber, sha256 });
  }
  return checksums;
}

/** The store did not accept bytes. */
class StorageRefused extends Error {
  override name = "StorageRefused";
  readonly status: number;

  constructor(status: number, text: string) {
    super(`storage answered ${status} to the upload: ${text.slice(0, 200)}`);
    this.status = status;
  }
}

/** Sends bytes to a signed URL, without the headers that `fetch` sets itself. */
async function put({ uploadUrl, requiredHeaders }: Target, body: Blob, signal?: AbortSignal): Promise<void> {
  const own = Object.entries(requiredHeaders).filter(([name]) => !/^(host|content-length)$/i.test(name));
  for (let attempt = 1;; attempt++) {
    const response = await fetch(uploadUrl, {
      method: "PUT",
      headers: Object.fromEntries(own),
      body,
      ...(signal ? { signal } : {}),
    });
    const text = await response.text();
    if (response.ok) return;
    if (response.status < 500 || attempt === ATTEMPTS) {
      throw new StorageRefused(response.status, text);
    }
  }
}

/** One server-sent event. */
export interface StreamEvent<T> {
  id: string;
  event: string;
  data: T;
}

/** Yields the events of a stream. Reconnects when the connection breaks, until `signal` is aborted. */
export async function* events<T>(
  transport: Transport,
  path: string,
  query: object,
  o: { lastEventId?: string; signal?: AbortSignal } = {},
): AsyncGenerator<StreamEvent<T>, void, void> {
  let lastEventId = o.lastEventId ?? "";
  while (!o.signal?.aborted) {
    const options = {
      headers: { accept: "text/event-stream", ...(lastEventId ? { "last-event-id": lastEventId } : {}) },
      ...(o.signal ? { signal: o.signal } : {}),
    };
    try {
      const response = await transport.request<Response>({
        method: "GET",
        path,
        query,
        as: "response",
        options,
      });
      for await (const event of parse<T>(response)) {
        if (event.id) lastEventId = event.id;
        if (event.data !== undefined) yield { ...event, data: event.data };
      }
      await pause(RECONNECT_MS, o.signal);
    } catch (error) {
      if (o.signal?.aborted) return;
      if (error instanceof StewardProblem) throw error;
      await pause(RECONNECT_MS, o.signal).catch(() => {}); // the connection broke; the loop checks the signal
    }
  }
}

/** Parses a stream into events. A block without data only sets the id to resume from. */
async function* parse<T>(response: Response): AsyncGenerator<StreamEvent<T | undefined>, void, void> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader?.read() ?? { done: true, value: undefined };
      if (done) return;
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const fields = fieldsOf(block);
        const [id = "", event = "message", data] = ["id", "event", "data"].map((name) => fields.get(name));
        if (id || data !== undefined) yield { id, event, data: data === undefined ? data : JSON.parse(data) };
      }
    }
  } finally {
    reader?.cancel().catch(() => {}); // the consumer stopped reading
  }
}

function fieldsOf(block: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of block.split(/\r?\n/)) {
    const [, name, text] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name && text !== undefined) {
      fields.set(name, fields.has(name) ? `${fields.get(name)}\n${text}` : text);
    }
  }
  return fields;
}
