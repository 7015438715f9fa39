/** Result of a load run. Latencies in ms. */
export interface LoadResult {
  perSecond: number;
  p50: number;
  p95: number;
  p99: number;
  /** Number of responses by status. */
  statuses: Record<number, number>;
}

export interface LoadRequest {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

const decoder = new TextDecoder("latin1");
const encoder = new TextEncoder();

/**
 * Sends requests over `connections` keep-alive HTTP/1.1 connections to a loopback server, for `seconds` or until
 * `requests` are answered. Each connection sends its next request after the response. Implements only the HTTP it
 * needs, so that it uses little processor time.
 * @param next returns the nth request.
 */
export async function load(
  o: {
    port: number;
    connections: number;
    seconds: number;
    requests?: number;
    next: (n: number) => LoadRequest;
  },
): Promise<LoadResult> {
  const latencies: number[] = [];
  const statuses: Record<number, number> = {};
  const started = performance.now();
  const end = started + o.seconds * 1000;
  let sent = 0;
  await Promise.all(Array.from({ length: o.connections }, async () => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: o.port });
    connection.setNoDelay(true);
    const buffer = new Uint8Array(256 * 1024);
    while (performance.now() < end && sent < (o.requests ?? Infinity)) {
      const bytes = encodeRequest(o.next(sent++), o.port);
      const before = performance.now();
      for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
      const status = await readAnswer(connection, buffer);
      latencies.push(performance.now() - before);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
    connection.close();
  }));
  const seconds = (performance.now() - started) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (share: number) =>
    Math.round((latencies[Math.floor(latencies.length * share)] ?? 0) * 100) / 100;
  return {
    perSecond: Math.round(latencies.length / seconds),
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    statuses,
  };
}

function encodeRequest({ method = "GET", path, headers = {}, body }: LoadRequest, port: number): Uint8Array {
  const payload = body === undefined ? null : encoder.encode(body);
  const lines = [`${method} ${path} HTTP/1.1`, `host: 127.0.0.1:${port}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (payload) lines.push(`content-length: ${payload.length}`);
  return encoder.encode(`${lines.join("\r\n")}\r\n\r\n${body ?? ""}`);
}

async function readAnswer(connection: Deno.TcpConn, buffer: Uint8Array): Promise<number> {
  let length = 0;
  for (;;) {
    const read = await connection.read(buffer.subarray(length));
    if (read === null) throw new Error("the server closed the connection in the middle of a response");
    length += read;
    const head = decoder.decode(buffer.subarray(0, Math.min(length, 4096)));
    const headEnd = head.indexOf("\r\n\r\n");
    if (headEnd < 0) continue;
    const size = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    while (length < headEnd + 4 + size) {
      const more = await connection.read(buffer.subarray(length));
      if (more === null) throw new Error("the server closed the connection in the middle of a response");
      length += more;
    }
    return Number(head.slice(9, 12));
  }
}
