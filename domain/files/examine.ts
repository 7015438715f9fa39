import { createHash } from "node:crypto";
import type { ObjectStore } from "../../infra/objectstore/objectstore.ts";
import type { ScanVerdict } from "../../infra/scanner/scanner.ts";
import type { Platform } from "../shared/platform.ts";
import { ContentProbe, detectContentType } from "./content_type.ts";

/** What one reading of a file came to. */
export interface Reading {
  /** Of every byte, in hex. */
  sha256: string;
  verdict: ScanVerdict;
}

/** What the bytes of a file came to. */
export interface Examination extends Reading {
  /** The real type; null where the engine settled the matter first. */
  detectedContentType: string | null;
}

/** The object at the store is not the content that was confirmed. */
export class ContentUnreadable extends Error {
  override readonly name = "ContentUnreadable";
}

interface Content {
  finalKey: string;
  sizeBytes: number;
  /** The service wrote it itself. */
  isOwn: boolean;
}

/**
 * Reads the final copy once, through the hash, the type probe and the engine at the same time; memory stays flat.
 * @throws ScanUnavailable, ObjectStoreError, ContentUnreadable when another number of bytes came than expected
 */
export async function examineContent(
  p: Pick<Platform, "objects" | "scanner">,
  content: Content & { declaredContentType: string },
  signal: AbortSignal,
): Promise<Examination> {
  const probe = new ContentProbe(content.declaredContentType);
  const { sha256, verdict } = await readThroughEngine(p, content, signal, (chunk) => probe.feed(chunk));
  const detectedContentType = verdict.verdict !== "Clean" ? null : await detectContentType(
    probe,
    (start, end) => readRange(p.objects, content.finalKey, start, end, signal),
  );
  return { sha256, verdict, detectedContentType };
}

/**
 * Reads the final copy once, through the hash and the engine; memory stays flat.
 * @param look sees every chunk. @throws as `examineContent`
 */
export async function readThroughEngine(
  p: Pick<Platform, "objects" | "scanner">,
  { finalKey, sizeBytes, isOwn }: Content,
  signal: AbortSignal,
  look: (chunk: Uint8Array) => void = () => {},
): Promise<Reading> {
  const hash = createHash("sha256");
  let readBytes = 0;
  const source = openLate(() => p.objects.read(finalKey, { signal }));
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
    while (await next()); // an engine may be sure before the end; hash and size are of all bytes
  } catch (error) {
    source.cancel();
    throw error;
  }
  if (readBytes !== sizeBytes) {
    throw new ContentUnreadable(`${readBytes} bytes came, expected ${sizeBytes}`);
  }
  return { sha256: hash.digest("hex"), verdict };
}

/** Opens the source at the first read: a scan may wait for its turn, and storage hangs up on who does not read. */
function openLate(open: () => Promise<ReadableStream<Uint8Array>>) {
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
