import { Webhook } from "standardwebhooks";
import { until } from "../../support/until.ts";

export interface Received {
  id: string;
  headers: Headers;
  text: string;
  body: { type: string; timestamp: string; tenantId: string; data: Record<string, unknown> };
  /** Throws unless the signature is valid for `secret`. */
  verify(secret: string): void;
}

type Answer = (received: Received) => Response | Promise<Response>;

/** A real receiver of webhooks on loopback. */
export class Receiver {
  readonly received: Received[] = [];
  #answer: Answer = () => new Response("thanks");
  readonly #closing = new AbortController();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor() {
    this.#server = Deno.serve({
      port: 0,
      hostname: "127.0.0.1",
      signal: this.#closing.signal,
      onListen: () => {},
    }, async (request) => {
      const text = await request.text();
      const { headers } = request;
      const received: Received = {
        id: headers.get("webhook-id") ?? "",
        headers,
        text,
        body: text ? JSON.parse(text) : null,
        verify: (secret) => void new Webhook(secret).verify(text, Object.fromEntries(headers)),
      };
      this.received.push(received);
      return await this.#answer(received);
    });
  }

  url(path = "/hook"): string {
    return `http://127.0.0.1:${this.#server.addr.port}${path}`;
  }

  answers(answer: Answer): void {
    this.#answer = answer;
  }

  /** Resolves with the requests that match `isIt` as soon as there are `count` of them. */
  async got(count: number, isIt: (received: Received) => boolean = () => true): Promise<Received[]> {
    const what = `${count} requests among ${this.received.map(({ body }) => body.type)}`;
    return await until(() => this.received.filter(isIt), ({ length }) => length >= count, { what });
  }

  /** Closes its connections, also those of requests without an answer. */
  async stop(): Promise<void> {
    this.#closing.abort();
    await this.#server.finished;
  }
}
