import { createSocket } from "node:dgram";

const [NO_ERROR, NO_SUCH_NAME] = [0, 3];
const TXT = 16;
export const SERVER_FAILURE = 2;
export const REFUSED = 5;

/** Starts a name server on a free UDP port of loopback that knows TXT records. */
export async function startNameServer() {
  const socket = createSocket("udp4");
  const server = {
    /** `address:port`, the value of DNS_SERVER. */
    address: "",
    /** TXT records by name in lower case, without the dot at the end. */
    records: new Map<string, string[]>(),
    /** Names of the queries so far. */
    queries: [] as string[],
    /** While true, it answers no query. */
    isSilent: false,
    /** While set, it answers every query with this response code, such as `SERVER_FAILURE`. */
    failure: null as number | null,
    stop: () => socket.close(),
  };
  socket.on("message", (query, { port, address }) => {
    const { name, end } = nameAt(query, 12);
    server.queries.push(name);
    if (server.isSilent) return;
    const records = server.failure === null ? server.records.get(name) : undefined;
    socket.send(answerTo(query, end + 4, records, server.failure ?? undefined), port, address);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.bind(0, "127.0.0.1", resolve);
  await promise;
  server.address = `127.0.0.1:${socket.address().port}`;
  return server;
}

/** The name at `start`: labels with their length, ended by an empty one. */
function nameAt(message: Uint8Array, start: number): { name: string; end: number } {
  const labels: string[] = [];
  let at = start;
  while (message[at]) {
    const length = message[at] ?? 0;
    labels.push(new TextDecoder().decode(message.subarray(at + 1, at + 1 + length)).toLowerCase());
    at += 1 + length;
  }
  return { name: labels.join("."), end: at + 1 };
}

/** The answer with the question as it came (RFC 1035, 4.1). */
function answerTo(
  query: Uint8Array,
  endOfQuestion: number,
  records: string[] | undefined,
  code = records ? NO_ERROR : NO_SUCH_NAME,
): Uint8Array {
  const answers = (records ?? []).map((text) => {
    const strings = text.match(/.{1,200}/g)?.map((part) => new TextEncoder().encode(part)) ?? [];
    const data = strings.flatMap((part) => [part.length, ...part]);
    // a pointer to the name in the question, type, class IN, 60 s, length
    return [0xc0, 12, 0, TXT, 0, 1, 0, 0, 0, 60, data.length >> 8, data.length & 0xff, ...data];
  });
  const header = [query[0] ?? 0, query[1] ?? 0, 0x81, 0x80 | code, 0, 1, 0, answers.length, 0, 0, 0, 0];
  return Uint8Array.from([...header, ...query.subarray(12, endOfQuestion), ...answers.flat()]);
}
