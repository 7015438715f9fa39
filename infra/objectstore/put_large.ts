import http, { type IncomingMessage } from "node:http";
import https from "node:https";

/** Bodies up to so much go through fetch; of larger ones so much is handed to the socket at once. */
export const STEP_BYTES = 64 * 1024;
/** Longest part of an answer that is read: it says how it went, and nothing else. */
const ANSWER_BYTES = 64 * 1024;

/**
 * A PUT of a large body, sent piece by piece out of the caller's own memory: fetch copies the whole body first, and the
 * copies of one part after another stay in memory until the collector comes round. Each has a connection of its own, as
 * nobody can tell whether the server has just closed a kept one. Rejects when the exchange fails or `signal` aborts.
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
    sending.destroy(); // a store that refuses before it has read everything is not sent the rest
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
