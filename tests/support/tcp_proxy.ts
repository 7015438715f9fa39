import { connect, createServer, type Server, type Socket } from "node:net";

/**
 * A TCP proxy that can fail in the ways a network fails. Each change also holds for connections made later, until the next
 * change.
 */
export class TcpProxy {
  readonly #target: { hostname: string; port: number };
  readonly #pairs = new Set<Pair>();
  readonly #waiting = new Set<Socket>();
  #server: Server | null = null;
  #isHolding = false;
  port = 0;
  /** The number of connections that came while nothing was forwarded. */
  held = 0;

  private constructor(target: { hostname: string; port: number }) {
    this.#target = target;
  }

  /** Listens on a free port of loopback and forwards to `target`. */
  static async start(target: { hostname: string; port: number }): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    await proxy.#listen();
    return proxy;
  }

  /** Starts a proxy in front of a database; `url` is the connection string that leads through it. */
  static async forDatabase(databaseUrl: string): Promise<{ proxy: TcpProxy; url: string }> {
    const url = new URL(databaseUrl);
    const proxy = await TcpProxy.start({ hostname: url.hostname, port: Number(url.port) });
    url.hostname = "127.0.0.1";
    url.port = String(proxy.port);
    return { proxy, url: url.href };
  }

  /** Forwards again: delivers what was held back and accepts new connections. */
  async pass(): Promise<void> {
    this.#isHolding = false;
    for (const pair of this.#pairs) join(pair);
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const inward of waiting) this.#forward(inward);
    if (!this.#server) await this.#listen();
  }

  /** Forwards nothing in either direction and closes nothing: packets are lost without an error. */
  blackHole(): void {
    this.#isHolding = true;
    this.halfOpen();
  }

  /** Forwards nothing on existing connections; new ones work. */
  halfOpen(): void {
    for (const pair of this.#pairs) {
      pair.isJoined = false;
      for (const [from, to] of [[pair.inward, pair.outward], [pair.outward, pair.inward]] as const) {
        from.unpipe(to);
        from.pause();
      }
    }
  }

  /** Closes every existing connection; new ones work. */
  cut(): void {
    for (const socket of this.#waiting) socket.destroy();
    for (const { inward, outward } of this.#pairs) {
      inward.destroy();
      outward.destroy();
    }
  }

  /** Closes every connection and refuses new ones. */
  async refuse(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    const closed = new Promise<void>((resolve) => server ? server.close(() => resolve()) : resolve());
    this.cut();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.refuse();
  }

  async #listen(): Promise<void> {
    const server = createServer((inward) => {
      inward.on("error", () => {}); // the close event then ends the other socket
      if (!this.#isHolding) return this.#forward(inward);
      inward.pause();
      this.#waiting.add(inward);
      this.held++;
      inward.on("close", () => this.#waiting.delete(inward));
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(this.port, "127.0.0.1", resolve);
    });
    const address = server.address();
    this.port = typeof address === "object" && address ? address.port : 0;
    this.#server = server;
  }

  #forward(inward: Socket): void {
    const outward = connect(this.#target.port, this.#target.hostname);
    const pair = { inward, outward, isJoined: false };
    this.#pairs.add(pair);
    outward.on("error", () => {});
    inward.on("close", () => outward.destroy());
    outward.on("close", () => {
      inward.destroy();
      this.#pairs.delete(pair);
    });
    join(pair);
  }
}

interface Pair {
  inward: Socket;
  outward: Socket;
  isJoined: boolean;
}

function join(pair: Pair): void {
  if (pair.isJoined) return;
  pair.isJoined = true;
  pair.inward.pipe(pair.outward);
  pair.outward.pipe(pair.inward);
}
