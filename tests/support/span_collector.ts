/** A span as the OTLP exporter sends it; `kind` 2 is a server request, 3 a client request, 5 a consumed queue message. */
export interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  kind: number;
  attributes: { key: string; value: unknown }[];
}

/** Receives spans over OTLP/HTTP in JSON, as a telemetry backend does. */
export class SpanCollector {
  readonly spans: CollectedSpan[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  #arrived = () => {};

  constructor() {
    this.#server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
      const body = await request.json();
      if (new URL(request.url).pathname === "/v1/traces") {
        for (const { scopeSpans } of body.resourceSpans) {
          for (const { spans } of scopeSpans) this.spans.push(...spans);
        }
        this.#arrived();
      }
      return Response.json({});
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Resolves with the first matching span, as soon as it has arrived. */
  async span(what: string, fits: (span: CollectedSpan) => boolean): Promise<CollectedSpan> {
    for (const since = performance.now(); performance.now() - since < 20_000;) {
      const found = this.spans.find(fits);
      if (found) return found;
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, 1_000);
      this.#arrived = resolve;
      await promise;
      clearTimeout(timer);
    }
    throw new Error(
      `no such span arrived: ${what}; arrived: ${this.spans.map(({ name }) => name).join(", ")}`,
    );
  }

  stop(): Promise<void> {
    return this.#server.shutdown();
  }
}
