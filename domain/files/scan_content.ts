import { createHash } from "node:crypto";
import type { ObjectStore } from "../../infra/objectstore/objectstore.ts";
import type { ScanVerdict } from "../../infra/scanner/scanner.ts";
import type { Platform } from "../shared/platform.ts";
import { ContentProbe, detectContentType } from "./content_type.ts";

/** The result of reading a file once. */
export interface HashAndVerdict {
  /** Of the whole content, in hex. */
  sha256: string;
  verdict: ScanVerdict;
}

/** The result of a full scan. */
export interface ContentScan extends HashAndVerdict {
  /** The detected type; null if the verdict is not Clean. */
  detectedContentType: string | null;
}

/** The object at the store is not the content that was confirmed. */
export class ContentUnreadable extends Error {
  override readonly name = "ContentUnreadable";
}

interface Content {
  finalKey: string;
  sizeBytes: number;
  /** Did the service itself write the file? */
  isOwn: boolean;
}

/**
 * Reads the final copy once and hashes, scans and probes it in the same pass, with constant memory. Containers and
 * images need further range reads to detect their type.
 * @throws ScanUnavailable, ObjectStoreError, ContentUnreadable if the size differs from `sizeBytes`
 */
export async function scanContent(
  p: Pick<Platform, "objects" | "scanner">,
  content: Content & { declaredContentType: string },
  signal: AbortSignal,
): Promise<ContentScan> {
  const probe = new ContentProbe(content.declaredContentType);
  const { sha256, verdict } = await hashAndScan(p, content, signal, (chunk) => probe.feed(chunk));
  const detectedContentType = verdict.verdict !== "Clean" ? null : await detectContentType(
    probe,
    (start, end) => readRange(p.objects, content.finalKey, start, end, signal),
  );
  return { sha256, verdict, detectedContentType };
}

/**
 * Reads the final copy once and hashes and scans it, with constant memory.
 * @param look is called with every chunk
 * @throws as `scanContent`
 */
export async function hashAndScan(
  p: Pick<Platform, "objects" | "scanner">,
  { finalKey, sizeBytes, isOwn }: Content,
  signal: AbortSignal,
  look: (chunk: Uint8Array) => void = () => {},
): Promise<HashAndVerdict> {
  const hash = createHash("sha256");
  let readBytes = 0;
  const source = openOnFirstRead(() => p.objects.read(finalKey, { signal }));
  const next = async (): Promise<Uint8Array | null> => {
    const chunk = await source.read();
    if (chunk) {
      hash.update(chunk);
      readBytes += chunk.length;
      look(chunk);
    }
    return chunk;
  };
  let verdict: ScanVerdict;
  try {
    const content = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const chunk = await next();
        if (chunk) controller.enqueue(chunk);
        else controller.close();
      },
    }, { highWaterMark: 0 });
    verdict = await p.scanner.scan(content, { signal, isOwn });
    while (await next()); // the engine may stop early, but hash and size need all bytes
  } catch (error) {
    source.cancel();
    throw error;
  }
  if (readBytes !== sizeBytes) {
    throw new ContentUnreadable(`read ${readBytes} bytes, expected ${sizeBytes}`);
  }
  return { sha256: hash.digest("hex"), verdict };
}

/**
 * Opens the source at the first read. A scan may wait in the engine's queue, and storage closes connections that idle.
 */
function openOnFirstRead(open: () => Promise<ReadableStream<Uint8Array>>) {
  let reader: Promise<ReadableStreamDefaultReader<Uint8Array>> | undefined;
  return {
    async read(): Promise<Uint8Array | null> {
      reader ??= open().then((stream) => stream.getReader());
      const { done, value } = await (await reader).read();
      return done ? null : value;
    },
    cancel(): void {
      reader?.then((opened) => opened.cancel()).catch(() => {});
    },
  };
}

async function readRange(
  objects: ObjectStore,
  key: string,
  start: number,
  end: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const stream = await objects.read(key, { range: { start, end: end - 1 }, signal });
  return new Uint8Array(await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer());
}
