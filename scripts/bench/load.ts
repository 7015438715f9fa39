import { median, percentile, type Sample, SCALE } from "./compare.ts";

/** Result of a load run. Latencies in ms. */
export interface LoadResult {
  perSecond: number;
  p50: number;
  p95: number;
  p99: number;
  requests: number;
  /** Number of responses by status. */
  statuses: Record<number, number>;
}

/** A request; with a body it is a POST, of JSON or of a form. */
export interface LoadRequest {
  path: string;
  headers?: Record<string, string>;
  body?: unknown;
}

const decoder = new TextDecoder("latin1");
const encoder = new TextEncoder();

/**
 * Sends requests over `connections` keep-alive HTTP/1.1 connections to a loopback server, for `seconds`, until `requests`
 * are answered, or while `isRunning`. Each connection sends its next request after the response. Implements only the HTTP it
 * needs, so that it uses little processor time.
 * @param o.next returns the nth request.
 */
export async function load(
  o: {
    port: number;
    connections: number;
    seconds?: number;
    requests?: number;
    isRunning?: () => boolean;
    next: (n: number) => LoadRequest;
  },
): Promise<LoadResult> {
  const latencies: number[] = [];
  const statuses: Record<number, number> = {};
  const started = performance.now();
  const end = started + (o.seconds ?? Infinity) * SCALE * 1000;
  const { requests = Infinity, isRunning = () => true } = o;
  let sent = 0;
  await Promise.all(Array.from({ length: o.connections }, async () => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: o.port });
    connection.setNoDelay(true);
    const buffer = new Uint8Array(256 * 1024);
    while (performance.now() < end && sent < requests && isRunning()) {
      const bytes = encodeRequest(o.next(sent++));
      const before = performance.now();
      for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
      const { status } = await readResponse(connection, buffer);
      latencies.push(performance.now() - before);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
    connection.close();
  }));
  const seconds = (performance.now() - started) / 1000;
  return {
    perSecond: Math.round(latencies.length / seconds),
    p50: median(latencies),
    p95: percentile(latencies, 0.95),
    p99: percentile(latencies, 0.99),
    requests: latencies.length,
    statuses,
  };
}

/** Number of responses with a status of 300 or above. */
export const failures = ({ statuses }: LoadResult): number =>
  Object.entries(statuses).reduce((sum, [status, n]) => sum + (Number(status) >= 300 ? n : 0), 0);

/** Repeats one request as `load` does. Throws if a response has a status of 300 or above. */
export async function repeat(
  port: number,
  request: LoadRequest,
  o: { connections: number; seconds?: number; requests?: number; isRunning?: () => boolean },
): Promise<LoadResult> {
  const result = await load({ port, next: () => request, ...o });
  if (failures(result) > 0) throw new Error(`${request.path} answered ${JSON.stringify(result.statuses)}`);
  return result;
}

/** Rate of one request, for `measure` and `compare`. */
export const rateOf = (
  port: number,
  request: LoadRequest,
  o: { connections: number; seconds: number },
): Promise<Sample> => rateOfEach(port, [request], o);

/** Rate of requests that are sent in turn. Throws if a response has a status of 300 or above. */
export async function rateOfEach(
  port: number,
  requests: LoadRequest[],
  o: { connections: number; seconds: number },
): Promise<Sample> {
  const result = await load({ port, next: (n) => requests[n % requests.length] ?? { path: "/" }, ...o });
  if (failures(result) > 0) throw new Error(`the requests were answered ${JSON.stringify(result.statuses)}`);
  return { value: result.perSecond, note: `p50 ${result.p50} ms, p95 ${result.p95} ms` };
}

/** Throws unless the requests of each pair have the same answer. */
export async function requireSameAnswers(
  pairs: { url: string; headers?: Record<string, string> }[][],
): Promise<void> {
  for (const pair of pairs) {
    const answers = await Promise.all(
      pair.map(async ({ url, headers = {} }) => await (await fetch(url, { headers })).text()),
    );
    if (new Set(answers).size > 1) throw new Error(`different answers: ${answers.join("\n")}`);
  }
}

/** The bytes of a request. */
export function encodeRequest({ path, headers = {}, body }: LoadRequest): Uint8Array {
  const isForm = body instanceof URLSearchParams;
  const payload = body === undefined ? "" : isForm ? String(body) : JSON.stringify(body);
  const lines = [`${body === undefined ? "GET" : "POST"} ${path} HTTP/1.1`, "host: 127.0.0.1"];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (payload) {
    const type = isForm ? "application/x-www-form-urlencoded" : "application/json";
    lines.push(`content-type: ${type}`, `content-length: ${encoder.encode(payload).length}`);
  }
  return encoder.encode(`${lines.join("\r\n")}\r\n\r\n${payload}`);
}

/** Reads one response whole; returns its status and head. @param buffer larger than the response */
export async function readResponse(
  connection: Deno.TcpConn,
  buffer: Uint8Array,
): Promise<{ status: number; head: string }> {
  for (let length = 0;;) {
    const read = await connection.read(buffer.subarray(length));
    if (read === null) throw new Error("the server closed the connection in the middle of a response");
    length += read;
    const head = decoder.decode(buffer.subarray(0, Math.min(length, 4096)));
    const headEnd = head.indexOf("\r\n\r\n");
    if (headEnd < 0) continue;
    const total = headEnd + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (length >= total) return { status: Number(head.slice(9, 12)), head };
  }
}
