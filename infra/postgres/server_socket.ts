import { EventEmitter } from "node:events";
import { connect, isIP, type Socket } from "node:net";
import { connect as secure } from "node:tls";

/** Address and TLS settings of a server, as postgres.js parses them from a connection URL. */
export interface ServerAddress {
  host: string[];
  port: number[];
  path: string | false;
  ssl: string | boolean | object | null;
  sslnegotiation?: string | null;
}

/** The part of a socket that postgres.js and `RowInterceptor` use. */
export interface ServerSocket extends EventEmitter {
  write(bytes: Uint8Array, done?: () => void): boolean;
  end(bytes: Uint8Array): unknown;
  destroy(): unknown;
  pause(): unknown;
  resume(): unknown;
}

const CONNECT_MS = 5_000;
const SSL_REQUEST = Uint8Array.of(0, 0, 0, 8, 4, 210, 22, 47);
const ACCEPTED = 0x53;

/**
 * Connects to the first host that answers, with TLS as `ssl` requires, like postgres.js does.
 * @throws Error of the last host tried
 */
export function openServerSocket(address: ServerAddress): Promise<ServerSocket> {
  return openFirst<ServerSocket>(address, 0, (host, port) => PlainSocket.open(host, port));
}

/**
 * Like `openServerSocket`, but with Node sockets, which do not reuse their read buffer.
 * @param first index of the host to try first
 */
export function openSocket(address: ServerAddress, first: number): Promise<Socket> {
  return openFirst<Socket>(address, first, (host, port) => opened(connect(port, host), "connect"));
}

async function openFirst<S extends ServerSocket>(
  address: ServerAddress,
  first: number,
  openPlain: (host: string, port: number) => Promise<S>,
): Promise<S | Socket> {
  if (address.path) return await opened(connect(address.path), "connect");
  const { host: hosts, port: ports } = address;
  let failure: unknown = new Error("the database URL names no host");
  for (let n = 0; n < hosts.length; n++) {
    const i = (first + n) % hosts.length;
    const [host = "", port = 5432] = [hosts[i], ports[i]];
    try {
      return address.ssl ? await openEncrypted(host, port, address) : await openPlain(host, port);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/**
 * An unencrypted connection with one reused read buffer. The bytes of a `data` event are valid only during the event.
 */
class PlainSocket extends EventEmitter implements ServerSocket {
  readyState: "open" | "closed" = "open";
  #buffer = new Uint8Array(64 * 1024);
  #unsent = Promise.resolve();
  #paused = Promise.withResolvers<void>();

  private constructor(private readonly connection: Deno.TcpConn) {
    super();
    this.#paused.resolve();
    // Starts to read in a later task, after the caller has added its listeners.
    setTimeout(() => this.#read(), 0);
  }

  static async open(hostname: string, port: number): Promise<PlainSocket> {
    const signal = AbortSignal.timeout(CONNECT_MS);
    try {
      const connection = await Deno.connect({ hostname, port, signal });
      connection.setNoDelay(true);
      connection.setKeepAlive(true);
      return new PlainSocket(connection);
    } catch (cause) {
      throw signal.aborted ? timedOut() : Object.assign(
        new Error("the database server cannot be reached", { cause }),
        { code: "ECONNREFUSED" },
      );
    }
  }

  write(bytes: Uint8Array, done?: () => void): boolean {
    this.#unsent = this.#unsent.then(async () => {
      for (let at = 0; at < bytes.length;) at += await this.connection.write(bytes.subarray(at));
      done?.();
    }).catch((error) => this.#close(error));
    return true;
  }

  end(bytes: Uint8Array): void {
    this.write(bytes);
    this.#unsent.then(() => this.#close());
  }

  destroy(): void {
    this.#close();
  }

  pause(): void {
    this.#paused = Promise.withResolvers();
  }

  resume(): void {
    this.#paused.resolve();
  }

  async #read(): Promise<void> {
    try {
      for (;;) {
        await this.#paused.promise;
        const length = await this.connection.read(this.#buffer);
        if (length === null) break;
        this.emit("data", this.#buffer.subarray(0, length));
      }
      this.#close();
    } catch (error) {
      this.#close(error);
    }
  }

  #close(error?: unknown): void {
    if (this.readyState === "closed") return;
    this.readyState = "closed";
    this.connection.close();
    if (error) {
      this.emit(
        "error",
        Object.assign(new Error("the connection broke", { cause: error }), { code: "ECONNRESET" }),
      );
    }
    this.emit("close", error !== undefined);
  }
}

/** Uses Node's TLS: Deno's TLS cannot encrypt without verifying the certificate, which `sslmode=require` asks for. */
async function openEncrypted(
  host: string,
  port: number,
  { ssl, sslnegotiation }: ServerAddress,
): Promise<Socket> {
  const socket = await opened(connect(port, host), "connect");
  const isDirect = sslnegotiation === "direct";
  if (!isDirect && !await agreesToEncrypt(socket)) {
    if (ssl === "prefer") return socket;
    socket.destroy();
    throw Object.assign(new Error("the database server does not accept encrypted connections"), {
      code: "ECONNREFUSED",
    });
  }
  const isUnverified = ssl === "require" || ssl === "allow" || ssl === "prefer";
  const options = {
    socket,
    ...(isIP(host) ? {} : { servername: host }),
    ...(isDirect ? { ALPNProtocols: ["postgresql"] } : {}),
    ...(isUnverified ? { rejectUnauthorized: false } : {}),
    ...(typeof ssl === "object" ? ssl : {}),
  };
  return await opened(secure(options), "secureConnect");
}

async function agreesToEncrypt(socket: Socket): Promise<boolean> {
  const answer = new Promise<boolean>((resolve, reject) => {
    socket.once("data", (bytes: Uint8Array) => resolve(bytes[0] === ACCEPTED));
    socket.once(
      "close",
      () =>
        reject(Object.assign(new Error("the database server closed the connection"), { code: "ECONNRESET" })),
    );
  });
  socket.write(SSL_REQUEST);
  const timer = setTimeout(() => socket.destroy(), CONNECT_MS);
  try {
    return await answer;
  } finally {
    clearTimeout(timer);
    socket.removeAllListeners("data").removeAllListeners("close");
  }
}

function opened(socket: Socket, event: "connect" | "secureConnect"): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    const timer = setTimeout(() => fail(timedOut()), CONNECT_MS);
    socket.once("error", fail);
    socket.once(event, () => {
      clearTimeout(timer);
      socket.removeListener("error", fail);
      resolve(socket);
    });
  });
}

const timedOut = (): Error =>
  Object.assign(new Error(`no connection to the database within ${CONNECT_MS} ms`), { code: "ETIMEDOUT" });
