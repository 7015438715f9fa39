import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { type Scanner, ScanUnavailable, type ScanVerdict } from "../../../infra/scanner/scanner.ts";
import { streamOf } from "../../support/content.ts";

export const CLEAN: ScanVerdict = { verdict: "Clean" };
export const encode = (text: string) => new TextEncoder().encode(text);

/** Scans content in chunks of this many bytes. */
export const scanBy =
  (scanner: Scanner) =>
  (content: Uint8Array, chunkBytes?: number, o?: { isOwn?: boolean }): Promise<ScanVerdict> =>
    scanner.scan(streamOf(content, chunkBytes), o);

export function closing(scanner: Scanner): { scanner: Scanner } & AsyncDisposable {
  return { scanner, [Symbol.asyncDispose]: () => scanner.close() };
}

/** @param since time of the first file in seconds; each further one is a second younger */
export async function rulesFolder(files: Record<string, string>, since = 1_600_000_000): Promise<URL> {
  const folder = pathToFileURL(`${await Deno.makeTempDir({ prefix: "rules-" })}/`);
  for (const [n, [name, text]] of Object.entries(files).entries()) {
    await Deno.writeTextFile(new URL(name, folder), text);
    await Deno.utime(new URL(name, folder), since + n, since + n);
  }
  return folder;
}

export async function unavailable(work: Promise<unknown>, message: RegExp): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof ScanUnavailable, `expected ScanUnavailable, got ${error}`);
    assert.match(error.message, message);
    return true;
  });
}
