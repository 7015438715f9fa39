/** A reverse proxy over several instances: each request goes to the next one; one that refuses connections is passed by. */
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
    const { pathname, search } = new URL(request.url);
    const headers = new Headers(request.headers);
    headers.delete("host");
    headers.set("accept-encoding", "identity"); // else fetch would unpack what the caller wants packed
    headers.append("x-forwarded-for", peer);
    const body = request.body ? await request.bytes() : null;
    const first = this.#next++;
    for (let n = 0; n < this.targets.length; n++) {
      const target = this.targets[(first + n) % this.targets.length];
      try {
        const answer = await fetch(target + pathname + search, {
          ...{ method: request.method, headers, body, redirect: "manual", client: this.#client },
          signal: request.signal,
        });
        return new Response(answer.body, answer);
      } catch (error) {
        // Only a request that nobody has begun may be sent once more.
        const isRefused = error instanceof Error && /refused/i.test(`${error.message} ${error.cause}`);
        if (!isRefused) return new Response("the instance broke off", { status: 502 });
      }
    }
    return new Response("no instance is left", { status: 503 });
  }

  async stop(): Promise<void> {
    await this.#server.shutdown();
    this.#client.close();
  }
}
