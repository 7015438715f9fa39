// Operations that need more than one request: uploads and event streams. Copied unchanged into the package.
import { pause, StewardProblem, type Transport } from "./transport.ts";

/** A file to upload. */
export interface Upload {
  /** One of the service's profiles, such as `document` or `image`. */
  profile: string;
  fileName: string;
  contentType: string;
  content: Blob | Uint8Array | ArrayBuffer;
  /** Multipart upload: true for a number of parts that suits the size, or the number. Each part is retried alone. */
  parts?: boolean | number;
  isProduct?: boolean;
  /** Makes a retry of the reservation safe. */
  idempotencyKey?: string;
  signal?: AbortSignal;
  /** Called after every uploaded part, with bytes sent and total bytes. */
  onProgress?: (sent: number, total: number) => void;
}

interface Reserved {
  fileId: string;
  uploadUrl: string;
  requiredHeaders: Record<string, string>;
  parts?: {
    partNumber: number;
    sizeBytes: number;
    uploadUrl: string;
    requiredHeaders: Record<string, string>;
  }[];
}

const ATTEMPTS = 3;
const RECONNECT_MS = 2_000;

/**
 * Reserves a file, uploads its content to the object store, and completes it. Returns the file; its scan has started.
 */
export async function upload<R>(transport: Transport, file: Upload): Promise<R> {
  const { profile, fileName, contentType, parts, isProduct, idempotencyKey, signal } = file;
  const content = file.content instanceof Blob
    ? file.content
    : new Blob([file.content as Uint8Array<ArrayBuffer>]);
  const options = { ...(idempotencyKey ? { idempotencyKey } : {}), ...(signal ? { signal } : {}) };
  const reserved = await transport.request<Reserved>({
    method: "POST",
    path: "/api/v1/files",
    body: { profile, fileName, contentType, sizeBytes: content.size, isProduct, parts },
    options,
  });
  const confirmed: { partNumber: number; etag: string }[] = [];
  let sent = 0;
  const send = async (url: string, headers: Record<string, string>, bytes: Blob) => {
    const etag = await put(url, headers, bytes, signal);
    sent += bytes.size;
    file.onProgress?.(sent, content.size);
    return etag;
  };
  if (!reserved.parts) await send(reserved.uploadUrl, reserved.requiredHeaders, content);
  let offset = 0;
  for (const part of reserved.parts ?? []) {
    const bytes = content.slice(offset, offset += part.sizeBytes);
    const etag = await send(part.uploadUrl, part.requiredHeaders, bytes);
    confirmed.push({ partNumber: part.partNumber, etag });
  }
  return await transport.request<R>({
    method: "POST",
    path: `/api/v1/files/${reserved.fileId}/complete`,
    ...(reserved.parts ? { body: { parts: confirmed } } : {}),
    options: signal ? { signal } : {},
  });
}

async function put(
  url: string,
  headers: Record<string, string>,
  body: Blob,
  signal?: AbortSignal,
): Promise<string> {
  const own = Object.entries(headers).filter(([name]) => !/^(host|content-length)$/i.test(name)); // set by fetch
  for (let attempt = 1;; attempt++) {
    const response = await fetch(url, {
      method: "PUT",
      headers: Object.fromEntries(own),
      body,
      ...(signal ? { signal } : {}),
    });
    const text = await response.text();
    if (response.ok) return response.headers.get("etag") ?? "";
    if (response.status < 500 || attempt === ATTEMPTS) {
      throw new Error(`storage answered ${response.status} to the upload: ${text.slice(0, 200)}`);
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
