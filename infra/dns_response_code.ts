// Deno 2.9.6: `Deno.resolveDns` throws NotFound for every answer without records, also for SERVFAIL and REFUSED, and
// node:dns uses it. This file can go when the error tells the response code of the answer (RFC 1035, 4.1.1).
import { createSocket } from "node:dgram";
import { getServers } from "node:dns";
import { isIPv6 } from "node:net";

const TIMEOUT_MS = 2_000;
const TXT = 16;
const NO_ERROR = 0;
const NO_SUCH_NAME = 3;

type NameServer = { hostname: string; port: number };

/**
 * True if a name server says that there is no TXT record; false if it refuses or fails, or if none answers. It asks one
 * server after the other, and each has two seconds.
 * @param server null: those of the system
 */
export async function isWithoutRecords(name: string, server: NameServer | null): Promise<boolean> {
  for (const each of server ? [server] : systemServers()) {
    const code = await responseCode(name, each);
    if (code !== null) return code === NO_ERROR || code === NO_SUCH_NAME;
  }
  return false;
}

/** The name servers of the system. node:dns writes them as `address`, `address:port` or `[address]:port`. */
const systemServers = (): NameServer[] =>
  getServers().map((server) => {
    const { hostname, port } = new URL(`udp://${isIPv6(server) ? `[${server}]` : server}`);
    return { hostname: hostname.replace(/^\[|\]$/g, ""), port: Number(port || 53) };
  });

/** The response code of a query over UDP; null without an answer. */
async function responseCode(name: string, { hostname, port }: NameServer): Promise<number | null> {
  const query = queryFor(name);
  const { promise, resolve } = Promise.withResolvers<number | null>();
  const socket = createSocket(isIPv6(hostname) ? "udp6" : "udp4");
  const timer = setTimeout(() => resolve(null), TIMEOUT_MS);
  try {
    socket.on("error", () => resolve(null)); // such as an unreachable network
    socket.on("message", (answer, from) => {
      const isAnswer = answer.length >= 12 && answer[0] === query[0] && answer[1] === query[1];
      if (isAnswer && from.address === hostname && from.port === port) resolve((answer[3] ?? 0) & 0xf);
    });
    socket.send(query, port, hostname);
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.close();
  }
}

/** A recursive query for the TXT records of a name, with a random id (RFC 1035, 4.1). */
function queryFor(name: string): Uint8Array {
  const labels = name.split(".").flatMap((label) => [label.length, ...new TextEncoder().encode(label)]);
  const id = crypto.getRandomValues(new Uint8Array(2));
  return Uint8Array.from([...id, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, TXT, 0, 1]);
}
