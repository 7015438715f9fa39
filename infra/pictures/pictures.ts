import { Worker } from "node:worker_threads";

export const PICTURE_FORMATS = ["webp", "jpeg", "png", "avif"] as const;
/** cover: fills both sides, cuts the rest; contain: fits into both, with empty margins; inside: fits, never enlarged. */
export const PICTURE_FITS = ["cover", "contain", "inside"] as const;
/** Content types of which pictures are made. Of a PDF, it is the first page; of an animation, the first frame. */
export const PICTURED_TYPES = [
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
  "image/avif",
  "application/pdf",
];

/** The size of a picture in pixels; without one side, it follows from the other. */
export interface PictureSize {
  width?: number | undefined;
  height?: number | undefined;
  fit: typeof PICTURE_FITS[number];
  format: typeof PICTURE_FORMATS[number];
}

export interface PictureInput {
  bytes: Uint8Array<ArrayBuffer>;
  /** One of PICTURED_TYPES. */
  contentType: string;
  size: PictureSize;
}

export interface Picture {
  bytes: Uint8Array<ArrayBuffer>;
  width: number;
  height: number;
}

export type PictureAnswer = Picture | { refused: string };

/** The content is damaged, too large, or takes too long. Another attempt would fail too. */
export class PictureRefused extends Error {
  override name = "PictureRefused";
}

/** Time of one picture, after which its thread is ended. */
const LIMIT_MS = 20_000;
const OLD_MEGABYTES = 256;

/**
 * Makes pictures of images and PDFs, one after the other, in a thread that is started with the first one. Hostile content
 * cannot stop the service: pixels, time and memory of a picture are limited.
 */
export class Pictures {
  #worker: Worker | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly limitMs = LIMIT_MS) {}

  /** @throws PictureRefused; the signal's reason */
  make(input: PictureInput, signal: AbortSignal): Promise<Picture> {
    const made = this.#last.then(() => this.#make(input, signal));
    this.#last = made.catch(() => {});
    return made;
  }

  async #make(input: PictureInput, signal: AbortSignal): Promise<Picture> {
    signal.throwIfAborted();
    const answer = await this.#ask(input, signal);
    if ("refused" in answer) throw new PictureRefused(answer.refused);
    return answer;
  }

  async #ask(input: PictureInput, signal: AbortSignal): Promise<PictureAnswer> {
    const worker = this.#worker ??= this.#start();
    worker.ref();
    const { promise, resolve, reject } = Promise.withResolvers<PictureAnswer>();
    const abort = () => reject(signal.reason);
    const crash = (error: Error) => resolve({ refused: `the thread ended: ${error.message}` });
    const limit = setTimeout(
      () => resolve({ refused: `it took longer than ${this.limitMs} ms` }),
      this.limitMs,
    );
    let isAnswered = false;
    worker.once("message", (answer: PictureAnswer) => {
      isAnswered = true;
      resolve(answer);
    });
    worker.once("error", crash);
    signal.addEventListener("abort", abort, { once: true });
    worker.postMessage(input, [input.bytes.buffer]);
    try {
      return await promise;
    } finally {
      clearTimeout(limit);
      signal.removeEventListener("abort", abort);
      worker.off("error", crash);
      if (isAnswered) worker.unref();
      else this.stop();
    }
  }

  #start(): Worker {
    const resourceLimits = { maxOldGenerationSizeMb: OLD_MEGABYTES };
    return new Worker(new URL(import.meta.resolve("./picture_worker.ts")), {
      name: "pictures",
      resourceLimits,
    });
  }

  /** Ends the thread; the next picture starts another. */
  stop(): void {
    void this.#worker?.terminate();
    this.#worker = null;
  }
}
