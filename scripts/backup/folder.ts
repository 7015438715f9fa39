import { createHash } from "node:crypto";
import { join } from "node:path";

export interface IndexedObject {
  key: string;
  sizeBytes: number;
}

export const dumpOf = (folder: string): string => join(folder, "database.dump");
export const manifestOf = (folder: string): string => join(folder, "manifest.json");
const indexOf = (folder: string): string => join(folder, "objects.jsonl");

/** Path of an object's content: the hash of its key, because keys are not valid file names. */
export function contentOf(folder: string, key: string): string {
  const name = createHash("sha256").update(key).digest("hex");
  return join(folder, "objects", name.slice(0, 2), name);
}

/** True if the content is there in full. An interrupted copy leaves a `.part` file instead. */
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
