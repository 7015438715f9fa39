/** A body that is not complete within this time is streamed, without its length, to one instance only. */
const BODY_WITHIN_MS = 200;
const STOPS_WITHIN_MS = 1_000;

/** A reverse proxy over several instances in turn; an instance that refuses connections is skipped. */
export class RoundRobin {
  targets: string[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #client = Deno.createHttpClient({ poolMaxIdlePerHost: 64 });
  #next = 0;

  constructor() {
    this.#server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      (request, info) => this.#pass(request, info.remoteAddr.hostname),
    );
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async #pass(request: Request, peer: string): Promise<Response> {
    const path = request.url.slice(request.url.indexOf("/", "http://".length)); // the Host header may be missing
    const headers = new Headers(request.headers);
    headers.delete("host");
    headers.set("accept-encoding", "identity"); // otherwise fetch would decompress answers
    headers.append("x-forwarded-for", peer);
    const body = request.body ? await wholeOrStream(request.body) : null;
    const first = this.#next++;
    for (let n = 0; n < this.targets.length; n++) {
      const target = this.targets[(first + n) % this.targets.length];
      try {
        const answer = await fetch(`${target}${path}`, {
          method: request.method,
          headers,
          body,
          redirect: "manual",
          client: this.#client,
          signal: request.signal,
        });
        return new Response(answer.body, answer);
      } catch (error) {
        // Only a request that no instance has begun may be sent again.
        const isRefused = !(body instanceof ReadableStream) && error instanceof Error &&
          /refused/i.test(`${error.message} ${error.cause}`);
        if (!isRefused) return new Response("the instance closed the connection", { status: 502 });
      }
    }
    return new Response("no instance is left", { status: 503 });
  }

  async stop(): Promise<void> {
    const timeout = Promise.withResolvers<void>();
    const timer = setTimeout(timeout.resolve, STOPS_WITHIN_MS);
    await Promise.race([this.#server.shutdown(), timeout.promise]); // a client may have stalled
    clearTimeout(timer);
    this.#client.close();
  }
}

/** The whole body if it arrives in time, else the received part followed by the rest. */
async function wholeOrStream(
  body: ReadableStream<Uint8Array>,
): Promise<Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>> {
  const reader = body.getReader();
  const received: Uint8Array[] = [];
  const timeout = Promise.withResolvers<"late">();
  const timer = setTimeout(timeout.resolve, BODY_WITHIN_MS, "late");
  let next = reader.read();
  for (;;) {
    const chunk = await Promise.race([next, timeout.promise]).catch(() => "broken" as const);
    if (chunk === "late" || chunk === "broken") break;
    if (chunk.done) {
      clearTimeout(timer);
      return await new Blob(received as BlobPart[]).bytes();
    }
    received.push(chunk.value);
    next = reader.read();
  }
  return new ReadableStream({
    start: (out) => received.forEach((chunk) => out.enqueue(chunk)),
    async pull(out) {
      const { done, value } = await next;
      if (done) return out.close();
      out.enqueue(value);
      next = reader.read();
      next.catch(() => {}); // the next pull reports the error
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
