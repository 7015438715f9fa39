import { join } from "node:path";

/** A directory of entries. Each entry is a directory that is added atomically. */
export interface EntryStore {
  /** The ids of the kept entries, newest first. */
  ids(): Promise<string[]>;
  /** Adds an entry. It becomes visible when `fill` has finished. @returns its id */
  add(fill: (directory: string) => Promise<void>): Promise<string>;
  /** The path of a file of an entry, or null if `id` is not a valid entry id. */
  path(id: string, file: string): string | null;
}

const ENTRY = /^\d{13}-\d{6}-[0-9a-f]{8}$/;
const UNFINISHED = ".adding-";
const STALE_MILLISECONDS = 3_600_000;
/** Surplus entries are pruned once per this many additions, because reading the directory costs more than adding. */
const PRUNE_EVERY = 50;

/** Opens the directory, creates it if it is missing, and deletes unfinished entries of a crash. Keeps `keep` entries. */
export async function openEntryStore(directory: string, keep: number, now: () => Date): Promise<EntryStore> {
  await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
  for await (const { name } of Deno.readDir(directory)) {
    if (name.startsWith(UNFINISHED)) await removeIfStale(join(directory, name));
  }
  let count = 0;
  const all = async () => {
    const found: string[] = [];
    for await (const { name } of Deno.readDir(directory)) if (ENTRY.test(name)) found.push(name);
    return found.sort().reverse();
  };
  return {
    ids: async () => (await all()).slice(0, keep),
    async add(fill) {
      const time = String(now().getTime()).padStart(13, "0");
      const number = count++;
      const order = String(number % 1_000_000).padStart(6, "0");
      const id = `${time}-${order}-${crypto.randomUUID().slice(0, 8)}`;
      const unfinished = join(directory, UNFINISHED + id);
      await Deno.mkdir(unfinished);
      try {
        await fill(unfinished);
        await Deno.rename(unfinished, join(directory, id));
      } catch (error) {
        await removeEntry(unfinished);
        throw error;
      }
      if (number % PRUNE_EVERY === 0) {
        for (const surplus of (await all()).slice(keep)) await removeEntry(join(directory, surplus));
      }
      return id;
    },
    path: (id, file) => ENTRY.test(id) ? join(directory, id, file) : null,
  };
}

/** Writes a file and waits until it is on disk (fdatasync). @returns the bytes written */
export async function writeDurably(
  path: string,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<number> {
  const file = await Deno.open(path, { write: true, createNew: true });
  let written = 0;
  try {
    for await (const chunk of content) {
      for (let rest = chunk; rest.length > 0;) rest = rest.subarray(await file.write(rest));
      written += chunk.length;
    }
    await file.syncData();
  } finally {
    file.close();
  }
  return written;
}

/** Deletes an unfinished entry if it is old. A recent one may belong to another process that is still writing it. */
async function removeIfStale(path: string): Promise<void> {
  const changed = (await Deno.stat(path)).mtime?.getTime() ?? 0;
  if (Date.now() - changed > STALE_MILLISECONDS) await removeEntry(path);
}

async function removeEntry(path: string): Promise<void> {
  try {
    await Deno.remove(path, { recursive: true });
  } catch (error) {
    // another process may prune the same entry at the same time
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
