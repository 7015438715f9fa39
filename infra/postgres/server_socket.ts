import { connect, isIP, type OnReadOpts, type Socket } from "node:net";
import { connect as secure } from "node:tls";

/** Address, account and TLS settings of a server, as postgres.js parses them from a connection URL. */
export interface ServerAddress {
  /** Hosts and ports have the same order. */
  host: string[];
  port: number[];
  path: string | false;
  user: string;
  pass: string;
  database: string;
  ssl: string | boolean | object | null;
  sslnegotiation?: string | null;
}

const CONNECT_MS = 5_000;
const SSL_REQUEST = Uint8Array.of(0, 0, 0, 8, 4, 210, 22, 47);
const ACCEPTED = 0x53;

/**
 * Connects to one host of `address`, with TLS as `ssl` requires, like postgres.js does.
 * @param index which host
 * @param onread reads into this buffer instead of emitting "data" events; without effect on TLS
 */
export async function openSocket(
  address: ServerAddress,
  index: number,
  onread?: OnReadOpts,
): Promise<Socket> {
  if (address.path) return await opened(connect({ path: address.path, onread }), "connect");
  const host = address.host[index];
  if (!host) throw new Error("the database URL names no host");
  const port = address.port[index] ?? 5432;
  if (address.ssl) return await openEncrypted(host, port, address);
  return await opened(connect({ port, host, onread }), "connect");
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
