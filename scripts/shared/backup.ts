import { createHash } from "node:crypto";
import { join } from "node:path";
import { settingText } from "../../infra/config.ts";
import { EXIT, Failure, runScript } from "./run_script.ts";

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

const NO_DATABASE =
  "DATABASE_URL is missing. In development, the database and the bucket are embedded and stored in DATA_DIR " +
  "(.data): stop the service and copy that folder.";

/** Runs backup or restore with its arguments. */
export const runBackupScript = (
  help: string,
  run: (given: { folder: string; withObjects: boolean; databaseUrl: string }) => Promise<number>,
): Promise<void> =>
  runScript({
    help,
    options: { "no-objects": { type: "boolean", default: false } },
    async run(values, [folder, ...others]) {
      if (!folder || others.length > 0) throw new Failure(EXIT.usage, "expected one folder");
      const databaseUrl = settingText("DATABASE_URL");
      if (!databaseUrl) throw new Failure(EXIT.unavailable, NO_DATABASE);
      return await run({ folder, withObjects: !values["no-objects"], databaseUrl });
    },
  });
