// Worker thread that generates documents, one at a time. It reads rows over its own database connection and posts the
// finished bytes, so that formatting a report does not block requests.
import { parentPort } from "node:worker_threads";
import { isStoreAway } from "../../../infra/objectstore/errors.ts";
import { PostgresError } from "../../../infra/postgres/failures.ts";
import { type BlockInput, makeBlocks } from "../../documents/writers/pdf/blocks/make_blocks.ts";
import { makeDocument, type ReportInput } from "./make_document.ts";
import { loadReportTemplates, type ReportTemplates, requireTemplate } from "./registry.ts";

/** The databases and folders from which the thread reads rows and templates. */
export interface DocumentSources {
  /** The service's own database. */
  databaseUrl: string;
  /** Further databases by name, for templates that name one. */
  databases: Readonly<Record<string, string>>;
  templates: { folder: string | null; extensions: readonly string[] };
}

/** A report, or a document of a document template. */
export type DocumentInput = ReportInput | BlockInput;

/** Messages to the thread. `more` acknowledges a chunk of bytes; `stop` cancels the current document. */
export type ToWorker = { do: "make"; input: DocumentInput; sources: DocumentSources } | { do: "more" } | {
  do: "stop";
};

/** Messages from the thread: chunks of the document, and at the end its row count or the failure. */
export type FromWorker = { bytes: Uint8Array<ArrayBuffer> } | { rowCount: number } | { failed: Failure };

/** An error in a form that can be posted between threads. */
export interface Failure {
  message: string;
  stack?: string;
  code?: string;
  isPostgres: boolean;
  isStoreAway?: boolean;
  /** True if the error has the driver's `query` member, which tells a lost database connection from other errors. */
  hasQuery: boolean;
}

/** Number of chunks that may be sent before the first `more`. */
const CHUNKS_AHEAD = 4;
const CHUNK_BYTES = 512 * 1024;

let templates: Promise<ReportTemplates> | undefined;
let stopping = new AbortController();
/** Number of chunks that may be sent now. */
let credits = 0;
/** Wakes `send` after a new credit or a stop. */
let wakeSender = () => {};

async function make({ input, sources }: Extract<ToWorker, { do: "make" }>): Promise<number> {
  const document = "markup" in input ? drawBlocks(input) : await generateReport(input, sources);
  const chunk = new Chunk();
  for (let next = await document.next();; next = await document.next()) {
    if (next.done) {
      if (chunk.filled > 0) await send(chunk.take());
      return next.value;
    }
    for (let taken = 0; taken < next.value.length;) {
      taken += chunk.add(next.value.subarray(taken));
      if (chunk.isFull) await send(chunk.take());
    }
  }
}

async function* drawBlocks(input: BlockInput): AsyncGenerator<Uint8Array<ArrayBuffer>, number> {
  yield* await Promise.resolve(makeBlocks(input));
  return 0;
}

async function generateReport(input: ReportInput, sources: DocumentSources) {
  templates ??= loadReportTemplates(sources.templates);
  const template = requireTemplate(await templates, input.templateId);
  const url = template.database === undefined
    ? input.replicaUrl ?? sources.databaseUrl
    : sources.databases[template.database];
  if (url === undefined) throw new Error(`no extension declares the database "${template.database}"`);
  return makeDocument(url, template, input, stopping.signal);
}

/** Collects bytes into chunks of CHUNK_BYTES, because each message costs the receiving thread time. */
class Chunk {
  filled = 0;
  #bytes = new Uint8Array(CHUNK_BYTES);

  get isFull(): boolean {
    return this.filled === CHUNK_BYTES;
  }

  /** Copies as many bytes as fit. @returns how many were copied */
  add(bytes: Uint8Array): number {
    const fitting = bytes.subarray(0, CHUNK_BYTES - this.filled);
    this.#bytes.set(fitting, this.filled);
    this.filled += fitting.length;
    return fitting.length;
  }

  take(): Uint8Array<ArrayBuffer> {
    const taken = this.isFull ? this.#bytes : this.#bytes.slice(0, this.filled);
    this.#bytes = new Uint8Array(CHUNK_BYTES);
    this.filled = 0;
    return taken;
  }
}

/** Posts a chunk as soon as there is a credit. @throws the reason of `stopping` */
async function send(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  while (credits === 0) {
    stopping.signal.throwIfAborted();
    await new Promise<void>((resolve) => wakeSender = resolve);
  }
  stopping.signal.throwIfAborted();
  credits--;
  post({ bytes }, [bytes.buffer]);
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { message: String(error), isPostgres: false, hasQuery: false };
  const code = "code" in error ? String(error.code) : undefined;
  return {
    message: error.message,
    ...(error.stack ? { stack: error.stack } : {}),
    ...(code ? { code } : {}),
    isPostgres: error instanceof PostgresError,
    isStoreAway: isStoreAway(error),
    hasQuery: "query" in error,
  };
}

function post(message: FromWorker, transferred: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transferred);
}

parentPort?.on("message", (data: ToWorker) => {
  if (data.do === "more") {
    credits++;
    wakeSender();
  } else if (data.do === "stop") {
    stopping.abort();
    wakeSender();
  } else {
    stopping = new AbortController();
    credits = CHUNKS_AHEAD;
    make(data).then(
      (rowCount) => post({ rowCount }),
      (error) => post({ failed: failureOf(error) }),
    );
  }
});
