import { S3Client, S3Errors } from "@bradenmacdonald/s3-lite-client";
import { AwsV4Signer } from "aws4fetch";
import { createHash } from "node:crypto";
import { amzDate, encodeRfc3986, type ObjectStoreConfig, objectUrl, type SignedRequest } from "./address.ts";
import { errorOfAnswer, errorOfNetwork, ObjectStoreError, ObjectStoreUnavailable } from "./errors.ts";
import { inSpan } from "../telemetry/tracing.ts";
import type { StoreClock } from "./store_clock.ts";
import http, { type IncomingMessage } from "node:http";
import https from "node:https";

/** Timeout, abort signal and name of one call. */
export interface CallBounds {
  /** Start of error messages, such as "reading an object". */
  action: string;
  /** Timeout for the whole answer; for its headers only, if `streamed`. */
  timeoutMs: number;
  /** True: the body is passed on as a stream, and `timeoutMs` applies to each chunk. */
  streamed?: boolean;
  signal?: AbortSignal;
}

type RequestOptions = Parameters<S3Client["makeRequest"]>[0];
type Bytes = Uint8Array<ArrayBuffer>;

/**
 * s3-lite-client with another transport, which aws4fetch signs. The library's transport has no timeout and no abort
 * signal, follows redirects, signs a wrong path for keys with `?`, and throws errors that contain the host. Create a
 * client for every call, with the bounds of that call.
 */
export class BoundedS3Client extends S3Client {
  readonly #config: ObjectStoreConfig;
  readonly #bounds: CallBounds;
  readonly #clock: StoreClock;

  constructor(config: ObjectStoreConfig, bounds: CallBounds, clock: StoreClock) {
    super({
      endPoint: config.endpoint,
      region: config.region,
      bucket: config.bucket,
      accessKey: config.accessKey,
      secretKey: config.secretKey,
    });
    this.#config = config;
    this.#bounds = bounds;
    this.#clock = clock;
  }

  /** Signs and sends one request, and checks the answer. Throws the errors of `errors.ts`, or the signal's reason. */
  override makeRequest(o: RequestOptions): Promise<Response> {
    return inSpan(`storage: ${this.#bounds.action}`, {}, () => this.#exchange(o));
  }

  async #exchange(o: RequestOptions): Promise<Response> {
    const { action, timeoutMs, streamed, signal } = this.#bounds;
    const expected = o.statusCode ?? 200;
    signal?.throwIfAborted();
    const abort = new AbortController();
    const onAbort = () => abort.abort(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    const late = new ObjectStoreUnavailable(
      `${action}: no answer from the object store within ${timeoutMs} ms`,
    );
    const timer = setTimeout(() => abort.abort(late), timeoutMs);
    const release = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    try {
      const { transport = send } = this.#config;
      const response = await this.#clock.retryIfSkewed(async () =>
        transport(await this.#sign(o), abort.signal)
      );
      if (response.status !== expected) {
        const { code } = await S3Errors.parseServerError(response);
        throw errorOfAnswer(action, expected, response.status, code);
      }
      if (streamed && response.body) {
        clearTimeout(timer);
        return new Response(
          boundedBody(response.body, { action, idleMs: timeoutMs, abort, release }),
          response,
        );
      }
      const text = o.returnBody ? await response.text() : await response.body?.cancel() ?? null;
      release();
      return new Response(text, response);
    } catch (error) {
      release();
      if (abort.signal.aborted) throw abort.signal.reason;
      if (error instanceof ObjectStoreError) throw error;
      throw errorOfNetwork(action, error);
    }
  }

  async #sign(o: RequestOptions): Promise<SignedRequest> {
    const url = objectUrl(this.#config.endpoint, this.#config, o.objectName);
    url.search = typeof o.query === "string" ? o.query : Object.entries(o.query ?? {})
      .map(([name, value]) => `${encodeRfc3986(name)}=${encodeRfc3986(value)}`).join("&");
    const hasBody = o.method !== "GET" && o.method !== "HEAD";
    const given = o.payload as Bytes | string | undefined; // the library's type also allows shared memory
    const body = typeof given === "string" ? new TextEncoder().encode(given) : given ?? new Uint8Array();
    const headers = new Headers(o.headers);
    headers.delete("content-length"); // fetch sets it from the body
    headers.set("x-amz-content-sha256", createHash("sha256").update(body).digest("hex"));
    // The object may be stored with a Content-Encoding. Without this header, fetch would decode its bytes.
    headers.set("accept-encoding", "identity");
    const signer = new AwsV4Signer({
      method: o.method,
      url: url.href,
      headers,
      service: "s3",
      datetime: amzDate(this.#clock.now()),
      region: this.#config.region,
      accessKeyId: this.#config.accessKey,
      secretAccessKey: this.#config.secretKey,
    });
    const signed = await signer.sign();
    return { url, method: o.method, headers: signed.headers, body: hasBody ? body : undefined };
  }
}

function send({ url, method, headers, body }: SignedRequest, signal: AbortSignal): Promise<Response> {
  const isLarge = method === "PUT" && body !== undefined && body.length > STEP_BYTES;
  if (isLarge && !needsFetch()) return putLarge(url, headers, body, signal);
  return fetch(url, { method, headers, body, redirect: "manual", signal });
}

/** Environment variables for proxies and certificate authorities that only fetch supports. */
const FETCH_ONLY = ["http_proxy", "https_proxy", "all_proxy", "deno_cert", "deno_tls_ca_store"];

const needsFetch = (): boolean =>
  FETCH_ONLY.some((name) => Deno.env.get(name) || Deno.env.get(name.toUpperCase()));

/** Bodies up to this size are sent with fetch. Larger ones are written to the socket in pieces of this size. */
const STEP_BYTES = 64 * 1024;
/** Maximum bytes of the answer that are kept. */
const ANSWER_BYTES = 64 * 1024;

/**
 * Sends a large body with PUT, in pieces, without copying it. fetch would copy the whole body first, and the copies
 * stay in memory until the next garbage collection. Each request opens a new connection, because the server may just
 * have closed a kept-alive one. Rejects if the exchange fails or `signal` aborts.
 */
async function putLarge(
  url: URL,
  headers: Headers,
  body: Uint8Array,
  signal: AbortSignal,
): Promise<Response> {
  const { request } = url.protocol === "https:" ? https : http;
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const sending = request(url, {
    method: "PUT",
    headers: { ...Object.fromEntries(headers), "content-length": body.length },
    agent: false,
    signal,
  });
  sending.on("error", reject);
  sending.on("response", (answer) => readAnswer(answer).then(resolve, reject));
  let sent = 0;
  const send = () => {
    while (sent < body.length) {
      const isTaken = sending.write(body.subarray(sent, sent += STEP_BYTES));
      if (!isTaken) return void sending.once("drain", send);
    }
    sending.end();
  };
  send();
  try {
    return await promise;
  } finally {
    sending.destroy(); // if the store refuses early, the rest is not sent
  }
}

async function readAnswer(answer: IncomingMessage): Promise<Response> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for await (const piece of answer) {
    if (length < ANSWER_BYTES) pieces.push(piece);
    length += piece.length;
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) headers.set(name, String(value));
  const status = answer.statusCode ?? 0;
  return new Response(status === 204 || status === 304 ? null : new Blob(pieces), { status, headers });
}

/**
 * Passes a response body on, one chunk per pull, so that memory use is constant. The stream fails with
 * ObjectStoreUnavailable if a chunk takes longer than `idleMs` or the connection breaks, and with the signal's reason
 * if it aborts. `release` runs when the stream ends, fails or is cancelled.
 */
export function boundedBody(
  body: ReadableStream<Uint8Array>,
  o: { action: string; idleMs: number; abort: AbortController; release: () => void },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let received = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const late = new ObjectStoreUnavailable(
        `${o.action}: received nothing for ${o.idleMs} ms after ${received} bytes, expected the rest of the object`,
      );
      const timer = setTimeout(() => o.abort.abort(late), o.idleMs);
      try {
        const { done, value } = await reader.read();
        if (done) {
          o.release();
          controller.close();
        } else {
          received += value.length;
          controller.enqueue(value);
        }
      } catch (error) {
        o.release();
        throw o.abort.signal.aborted ? o.abort.signal.reason : errorOfNetwork(o.action, error);
      } finally {
        clearTimeout(timer);
      }
    },
    async cancel(reason) {
      o.release();
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}
