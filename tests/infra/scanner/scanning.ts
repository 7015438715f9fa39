import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { type Scanner, ScanUnavailable, type ScanVerdict } from "../../../infra/scanner/scanner.ts";
import { type YaraOptions, yaraScanner } from "../../../infra/scanner/yara.ts";
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

export async function rulesFolder(files: Record<string, string>): Promise<URL> {
  const folder = pathToFileURL(`${await Deno.makeTempDir({ prefix: "rules-" })}/`);
  for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(new URL(name, folder), text);
  return folder;
}

/** A scanner with these rule files, which closes at the end of its block. */
export const yaraWith = async (files: Record<string, string>, o: YaraOptions = {}) =>
  closing(yaraScanner({ threads: 1, ...o, rulesFolder: await rulesFolder(files) }));

export async function unavailable(work: Promise<unknown>, message: RegExp): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof ScanUnavailable, `expected ScanUnavailable, got ${error}`);
    assert.match(error.message, message);
    return true;
  });
}
