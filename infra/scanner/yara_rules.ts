import { createHash } from "node:crypto";
import { ScanUnavailable } from "./scanner.ts";

/** The rule files of a folder, with a version and date. */
export interface RuleSet {
  /** One per file. Each file is a namespace, so rules of different files may have the same name. */
  sources: { namespace: string; text: string }[];
  /** The first 12 hex digits of the SHA-256 over all names and texts. */
  version: string;
  /** Modification time of the newest file; null if the file system does not report it. */
  date: Date | null;
}

/**
 * Reads all `*.yar` and `*.yara` files of a folder, without subfolders, in order of their names.
 * @throws ScanUnavailable if the folder cannot be read or has no rule file: without rules, everything would be clean
 */
export async function readRules(folder: URL): Promise<RuleSet> {
  try {
    const names: string[] = [];
    for await (const entry of Deno.readDir(folder)) {
      if (!entry.isDirectory && /\.yara?$/.test(entry.name)) names.push(entry.name);
    }
    if (names.length === 0) {
      throw new ScanUnavailable(`YARA rules: ${folder.pathname} holds no *.yar file; at least one is needed`);
    }
    return await readFiles(folder, names.sort());
  } catch (error) {
    if (error instanceof ScanUnavailable) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new ScanUnavailable(`YARA rules: cannot read ${folder.pathname}: ${reason}`, { cause: error });
  }
}

async function readFiles(folder: URL, names: string[]): Promise<RuleSet> {
  const hash = createHash("sha256");
  const sources: RuleSet["sources"] = [];
  let newest: Date | null = null;
  for (const name of names) {
    const file = new URL(encodeURIComponent(name), folder);
    const text = await Deno.readTextFile(file);
    const { mtime } = await Deno.stat(file);
    if (mtime !== null && (newest === null || mtime > newest)) newest = mtime;
    hash.update(`${name}\0${text}\0`);
    sources.push({ namespace: name, text });
  }
  return { sources, version: hash.digest("hex").slice(0, 12), date: newest };
}
