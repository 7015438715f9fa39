// Worker thread that generates documents, one at a time. It reads rows over its own database connection and posts the
// finished bytes, so that formatting a report does not block requests.
import { parentPort } from "node:worker_threads";
import { PostgresError } from "../../../infra/postgres/failures.ts";
import { type BlockInput, makeBlocks } from "../../documents/writers/pdf/blocks/make_blocks.ts";
import { makeDocument, type ReportInput } from "./make_document.ts";
import { loadReportTemplates, type ReportTemplates, requireTemplate } from "./registry.ts";

/** Where the thread reads rows and templates. */
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
  /** Does the error have the driver's `query` member? It distinguishes a lost database connection from other errors. */
  isOfQuery: boolean;
}

/** How many chunks may be sent without a `more`. */
const PIECES_AHEAD = 4;
const PIECE_BYTES = 512 * 1024;

let templates: Promise<ReportTemplates> | undefined;
let stopping = new AbortController();
let allowed = 0;
let allow = () => {};

async function make({ input, sources }: Extract<ToWorker, { do: "make" }>): Promise<number> {
  const pieces = "markup" in input ? drawBlocks(input) : await generateReport(input, sources);
  const piece = new Piece();
  for (let next = await pieces.next();; next = await pieces.next()) {
    if (next.done) {
      if (piece.filled > 0) await send(piece.take());
      return next.value;
    }
    for (let taken = 0; taken < next.value.length;) {
      taken += piece.add(next.value.subarray(taken));
      if (piece.isFull) await send(piece.take());
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

/** Collects bytes into chunks of PIECE_BYTES, because each message costs the receiving thread time. */
class Piece {
  filled = 0;
  #bytes = new Uint8Array(PIECE_BYTES);

  get isFull(): boolean {
    return this.filled === PIECE_BYTES;
  }

  /** Copies as many bytes as fit. @returns how many were copied */
  add(bytes: Uint8Array): number {
    const fitting = bytes.subarray(0, PIECE_BYTES - this.filled);
    this.#bytes.set(fitting, this.filled);
    this.filled += fitting.length;
    return fitting.length;
  }

  take(): Uint8Array<ArrayBuffer> {
    const taken = this.isFull ? this.#bytes : this.#bytes.slice(0, this.filled);
    this.#bytes = new Uint8Array(PIECE_BYTES);
    this.filled = 0;
    return taken;
  }
}

async function send(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  while (allowed === 0) {
    stopping.signal.throwIfAborted();
    await new Promise<void>((resolve) => allow = resolve);
  }
  stopping.signal.throwIfAborted();
  allowed--;
  post({ bytes }, [bytes.buffer]);
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { message: String(error), isPostgres: false, isOfQuery: false };
  const code = "code" in error ? String(error.code) : undefined;
  return {
    message: error.message,
    ...(error.stack ? { stack: error.stack } : {}),
    ...(code ? { code } : {}),
    isPostgres: error instanceof PostgresError,
    isOfQuery: "query" in error,
  };
}

function post(message: FromWorker, transferred: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transferred);
}

parentPort?.on("message", (data: ToWorker) => {
  if (data.do === "more") {
    allowed++;
    allow();
  } else if (data.do === "stop") {
    stopping.abort();
    allow();
  } else {
    stopping = new AbortController();
    allowed = PIECES_AHEAD;
    make(data).then(
      (rowCount) => post({ rowCount }),
      (error) => post({ failed: failureOf(error) }),
    );
  }
});
