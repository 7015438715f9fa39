import { join } from "node:path";

/** A directory of entries, each a directory of its own that appears whole or not at all. */
export interface EntryStore {
  /** The newest ones that are kept, newest first. */
  ids(): Promise<string[]>;
  /** Fills a new entry; it becomes visible when `fill` is done, under the id that is answered. */
  add(fill: (directory: string) => Promise<void>): Promise<string>;
  /** Where a file of an entry lies, or null when `id` is not the name of an entry. */
  path(id: string, file: string): string | null;
}

const ENTRY = /^\d{13}-\d{6}-[0-9a-f]{8}$/;
const UNFINISHED = ".adding-";
const STALE_MILLISECONDS = 3_600_000;
/** So many entries are added between two looks for surplus ones: reading the directory costs more than adding. */
const THINNED_EVERY = 50;

/** Opens (and makes) the directory; keeps the newest `keep` entries and clears what a crash left half-written. */
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
      if (number % THINNED_EVERY === 0) {
        for (const surplus of (await all()).slice(keep)) await removeEntry(join(directory, surplus));
      }
      return id;
    },
    path: (id, file) => ENTRY.test(id) ? join(directory, id, file) : null,
  };
}

/** Writes a whole file and waits until it is on the disk. */
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

/** Another process may still be adding, so only what has long been abandoned is cleared. */
async function removeIfStale(path: string): Promise<void> {
  const changed = (await Deno.stat(path)).mtime?.getTime() ?? 0;
  if (Date.now() - changed > STALE_MILLISECONDS) await removeEntry(path);
}

async function removeEntry(path: string): Promise<void> {
  try {
    await Deno.remove(path, { recursive: true });
  } catch (error) {
    // two writers may thin the same directory at once
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
