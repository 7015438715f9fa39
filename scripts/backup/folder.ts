import { createHash } from "node:crypto";
import { join } from "node:path";

/** What a backup holds. Objects lie under the hash of their key, since keys are no file names. */
export interface Manifest {
  format: 1;
  /** When the database's snapshot was begun; the backup is the service as of this instant. */
  startedAt: string;
  endedAt: string;
  objects: number;
  bytes: number;
}

export interface IndexedObject {
  key: string;
  sizeBytes: number;
}

export const dumpOf = (folder: string): string => join(folder, "database.dump");
export const manifestOf = (folder: string): string => join(folder, "manifest.json");
const indexOf = (folder: string): string => join(folder, "objects.jsonl");

/** Where an object's content lies. */
export function contentOf(folder: string, key: string): string {
  const name = createHash("sha256").update(key).digest("hex");
  return join(folder, "objects", name.slice(0, 2), name);
}

/** Is the content there in full? An interrupted copy has left a `.part` beside it. */
export async function holds(folder: string, { key, sizeBytes }: IndexedObject): Promise<boolean> {
  const found = await Deno.stat(contentOf(folder, key)).catch(() => null);
  return found?.size === sizeBytes;
}

export async function writeIndex(folder: string, objects: IndexedObject[]): Promise<void> {
  await Deno.writeTextFile(indexOf(folder), objects.map((each) => JSON.stringify(each) + "\n").join(""));
}

export async function readIndex(folder: string): Promise<IndexedObject[]> {
  const text = await Deno.readTextFile(indexOf(folder));
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}
