import http, { type IncomingMessage } from "node:http";
import https from "node:https";

/** Bodies up to this size are sent with fetch. Larger ones are written to the socket in pieces of this size. */
export const STEP_BYTES = 64 * 1024;
/** Maximum bytes of the answer that are kept. */
const ANSWER_BYTES = 64 * 1024;

/**
 * Sends a large body with PUT, in pieces, without copying it. fetch would copy the whole body first, and the copies
 * stay in memory until the next garbage collection. Each request opens a new connection, because the server may just
 * have closed a kept-alive one. Rejects if the exchange fails or `signal` aborts.
 */
export async function putLarge(
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
