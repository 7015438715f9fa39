// deno-lint-ignore no-explicit-any -- tests look into bodies of every shape
type Body = any;

/** A request to `/api/v1/work/…` as the front saw it. */
export interface SeenRequest {
  verb: string;
  body: Body;
  /** Milliseconds, by `performance.now()`. */
  at: number;
  /** The answer of the service; absent: there is none yet, or the service was not asked. */
  answer?: Body;
}

/**
 * What the front does with a request: pass it on, pass it on and cut its answer or send no more after the middle of it, or
 * answer it itself.
 */
export type Fault = (
  request: SeenRequest,
) => "pass" | "cut the answer" | "stall the answer" | Response | Promise<Response>;

/** A body that never ends. */
const stalling = (text: string) =>
  new ReadableStream({ start: (body) => body.enqueue(new TextEncoder().encode(text)) });

/** A server before the service that records the requests of a worker and can disturb them. */
export async function requestFront(target: string) {
  const seen: SeenRequest[] = [];
  const front = {
    url: "",
    seen,
    fault: (() => "pass") as Fault,
    /** The requests of a verb. */
    of: (verb: string) => seen.filter((request) => request.verb === verb),
    stop: () => server.shutdown(),
  };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const text = await request.text().catch(() => ""); // the worker was killed
    if (text === "") return new Response(null, { status: 400 });
    const one: SeenRequest = {
      verb: pathname.split("/").at(-1) ?? "",
      body: JSON.parse(text),
      at: performance.now(),
    };
    seen.push(one);
    const fault = await front.fault(one);
    if (fault instanceof Response) return fault;
    const { method, headers, signal } = request;
    const answer = await fetch(target + pathname, { method, headers, body: text, signal }).catch(() => null);
    if (!answer) return new Response(null, { status: 502 }); // the worker has closed its connection
    const body = await answer.text();
    one.answer = JSON.parse(body);
    const cut = body.slice(0, -1);
    const sent = fault === "pass" ? body : fault === "cut the answer" ? cut : stalling(cut);
    return new Response(sent, { status: answer.status, headers: { "content-type": "application/json" } });
  });
  front.url = `http://127.0.0.1:${server.addr.port}`;
  return await Promise.resolve(front);
}
