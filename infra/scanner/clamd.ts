import {
  ScanBeyondLimits,
  type Scanner,
  type ScannerStatus,
  ScanUnavailable,
  type ScanVerdict,
} from "./scanner.ts";
import { withTimeout } from "../timeout.ts";

/** Address of clamd, and timeouts in milliseconds. */
export interface ClamdOptions {
  host: string;
  port: number;
  /** To connect (5 s). */
  connectTimeoutMs?: number;
  /** To read the next chunk of content, or to send it to clamd (30 s). */
  idleTimeoutMs?: number;
  /** To receive the verdict after the last byte (150 s: longer than clamd's default MaxScanTime of 120 s). */
  answerTimeoutMs?: number;
  /** For the whole scan (10 min). */
  totalTimeoutMs?: number;
}

type Answered = { answer: string } | { failure: unknown };

const MAX_FRAME_BYTES = 64 * 1024;
/** Maximum wait for an answer after clamd stopped reading: it sends an error before it closes the connection. */
const EARLY_ANSWER_MS = 2_000;

/**
 * ClamAV's daemon over TCP (`INSTREAM`). Each scan has its own connection. Content is streamed with constant memory.
 * clamd calls some content clean that it did not scan wholly. `withArchiveLimits` rejects such archives. Without
 * `AlertExceedsMax yes`, content beyond MaxFileSize or MaxScanSize is also reported as clean. So set this option,
 * and raise StreamMaxLength, MaxFileSize and MaxScanSize to the largest accepted file size.
 */
export function clamdScanner(options: ClamdOptions): Scanner {
  const limits = {
    connectTimeoutMs: 5_000,
    idleTimeoutMs: 30_000,
    answerTimeoutMs: 150_000,
    totalTimeoutMs: 600_000,
    ...options,
  };
  const closing = new AbortController();
  const at = `clamd at ${options.host}:${options.port}`;

  async function session<T>(signal: AbortSignal | undefined, use: (s: Session) => Promise<T>): Promise<T> {
    const stop = AbortSignal.any([closing.signal, ...(signal ? [signal] : [])]);
    stop.throwIfAborted();
    const endsAt = performance.now() + limits.totalTimeoutMs;
    const wait = <W>(ms: number, work: Promise<W>, waitedFor: string) => {
      const left = Math.min(ms, endsAt - performance.now());
      return withTimeout(
        left,
        work,
        () => new ScanUnavailable(`${at}: ${waitedFor} took longer than ${left} ms`),
        stop,
      );
    };
    const conn = await connect(wait);
    try {
      return await use({ conn, wait });
    } finally {
      conn.close();
    }
  }

  async function connect(wait: Session["wait"]): Promise<Deno.TcpConn> {
    const givenUp = new AbortController();
    const attempt = Deno.connect({ hostname: options.host, port: options.port, signal: givenUp.signal });
    try {
      return await wait(limits.connectTimeoutMs, attempt.catch(unavailable("cannot connect")), "connecting");
    } catch (error) {
      givenUp.abort();
      attempt.then((late) => late.close(), () => {});
      throw error;
    }
  }

  function unavailable(what: string): (cause: unknown) => never {
    return (cause) => {
      if (cause instanceof ScanUnavailable) throw cause;
      throw new ScanUnavailable(`${at}: ${what}: ${cause instanceof Error ? cause.message : cause}`, {
        cause,
      });
    };
  }

  /** Sends all content. Returns false if clamd answered or closed the connection before it had everything. */
  async function send(
    { conn, wait }: Session,
    reader: ReadableStreamDefaultReader<Uint8Array>,
    answered: Promise<Answered>,
  ): Promise<boolean> {
    const idle = limits.idleTimeoutMs;
    const write = async (bytes: Uint8Array): Promise<boolean> => {
      try {
        await wait(idle, writeAll(conn, bytes), "handing over content");
        return true;
      } catch (error) {
        if (isConnectionError(error)) return false;
        throw error;
      }
    };
    if (!await write(new TextEncoder().encode("zINSTREAM\0"))) return false;
    const hungUp = answered.then(() => "answered" as const);
    for (;;) {
      const next = await wait(
        idle,
        Promise.race([hungUp, reader.read()]),
        "reading the next chunk of content",
      );
      if (next === "answered") return false;
      if (next.done) return await write(new Uint8Array(4));
      for (let start = 0; start < next.value.length; start += MAX_FRAME_BYTES) {
        if (!await write(frame(next.value.subarray(start, start + MAX_FRAME_BYTES)))) return false;
      }
    }
  }

  return {
    name: "clamd",
    async scan(content, o): Promise<ScanVerdict> {
      const reader = content.getReader();
      try {
        return await session(o?.signal, async (s) => {
          const answered: Promise<Answered> = readAnswer(s.conn).then(
            (answer) => ({ answer }),
            (failure) => ({ failure }),
          );
          const complete = await send(s, reader, answered);
          const timeoutMs = complete ? limits.answerTimeoutMs : EARLY_ANSWER_MS;
          const result = await s.wait(timeoutMs, answered, "waiting for the verdict");
          if ("failure" in result) return unavailable("the connection broke")(result.failure);
          if (complete) return parseVerdict(result.answer);
          throw noVerdict(`${at} did not read the whole content`, result.answer);
        });
      } catch (error) {
        reader.cancel(error).catch(() => {});
        throw error;
      } finally {
        reader.releaseLock();
      }
    },
    status(): Promise<ScannerStatus> {
      return session(undefined, async ({ conn, wait }) => {
        const exchange = writeAll(conn, new TextEncoder().encode("zVERSION\0")).then(() => readAnswer(conn));
        const answer = exchange.catch(unavailable("the connection broke"));
        return parseVersion(await wait(limits.connectTimeoutMs, answer, "asking for the version"));
      });
    },
    close(): Promise<void> {
      closing.abort(new ScanUnavailable(`${at}: the scanner was closed`));
      return Promise.resolve();
    },
  };
}

interface Session {
  conn: Deno.TcpConn;
  wait: <T>(ms: number, work: Promise<T>, waitedFor: string) => Promise<T>;
}

function isConnectionError(error: unknown): boolean {
  return error instanceof Deno.errors.BrokenPipe || error instanceof Deno.errors.ConnectionReset ||
    error instanceof Deno.errors.ConnectionAborted || error instanceof Deno.errors.NotConnected;
}

/** One INSTREAM frame: the length (32 bits, big-endian), then the bytes. */
function frame(bytes: Uint8Array): Uint8Array {
  const framed = new Uint8Array(4 + bytes.length);
  new DataView(framed.buffer).setUint32(0, bytes.length);
  framed.set(bytes, 4);
  return framed;
}

async function writeAll(conn: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let sent = 0; sent < bytes.length;) sent += await conn.write(bytes.subarray(sent));
}

const MAX_ANSWER_BYTES = 4096;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/**
 * Reads one answer of clamd, without its terminator. After a timeout, clamd ends its answer with a newline even to a `z`
 * command. So NUL and newline both end an answer.
 * @throws ScanUnavailable if the connection ends before the terminator
 */
async function readAnswer(
  source: { read(into: Uint8Array): Promise<number | null> },
): Promise<string> {
  const answer = new Uint8Array(MAX_ANSWER_BYTES);
  let length = 0;
  while (length < MAX_ANSWER_BYTES) {
    const count = await source.read(answer.subarray(length));
    const text = () => new TextDecoder().decode(answer.subarray(0, length));
    if (count === null) {
      throw new ScanUnavailable(
        length === 0
          ? "clamd closed the connection without an answer"
          : `clamd closed the connection in the middle of its answer "${text()}"`,
      );
    }
    const end = answer.subarray(length, length + count).findIndex((byte) => byte === 0 || byte === 0x0a);
    length += end === -1 ? count : end;
    if (end !== -1) return text();
  }
  throw new ScanUnavailable(`clamd's answer has no end within ${MAX_ANSWER_BYTES} bytes`);
}

/**
 * Parses clamd's answer to INSTREAM. Only `stream: OK` means clean. `Heuristics.Limits.Exceeded…` means that part
 * of the content was not scanned, so it is not a verdict.
 * @throws ScanUnavailable with the answer, if it is not a verdict
 */
export function parseVerdict(answer: string): ScanVerdict {
  if (answer === "stream: OK") return { verdict: "Clean" };
  const found = /^stream: (\S.*) FOUND$/.exec(answer)?.[1];
  if (found === undefined || found.startsWith("Heuristics.Limits.Exceeded")) {
    throw noVerdict('clamd gave no verdict, where "stream: OK" or "… FOUND" was expected', answer);
  }
  return { verdict: "Infected", signatureName: found };
}

function noVerdict(what: string, answer: string): ScanUnavailable {
  const NoVerdict = /limits?\b/i.test(answer) ? ScanBeyondLimits : ScanUnavailable;
  return new NoVerdict(`${what}: it answered "${answer}"`);
}

/**
 * Parses `ClamAV 1.4.6` and `ClamAV 1.4.6/3/Wed Jun 23 00:40:09 2021`. Without a signed database, clamd reports no
 * version of it. The date is in clamd's local time, without a time zone. It is read as UTC, which clamd's container
 * images use.
 */
export function parseVersion(answer: string): ScannerStatus {
  const [engine = "", databaseVersion, date] = answer.split("/");
  if (!/^ClamAV \S+$/.test(engine)) {
    throw new ScanUnavailable(`clamd answered "${answer}" to VERSION where "ClamAV <version>" was expected`);
  }
  return { engine, databaseVersion: databaseVersion || null, databaseDate: parseCtime(date ?? "") };
}

function parseCtime(text: string): Date | null {
  const parts = /^\w{3} (\w{3}) +(\d{1,2}) (\d{2}):(\d{2}):(\d{2}) (\d{4})$/.exec(text.trim());
  const month = MONTHS.indexOf(parts?.[1] ?? "");
  if (parts === null || month === -1) return null;
  const [day = 0, hour = 0, minute = 0, second = 0, year = 0] = parts.slice(2).map(Number);
  return new Date(Date.UTC(year, month, day, hour, minute, second));
}
