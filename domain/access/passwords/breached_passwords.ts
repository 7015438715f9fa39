import { createHash } from "node:crypto";
import { join } from "node:path";

/** Longest line of a file: 40 hexadecimal digits, a colon, a count and a line end, with some reserve. */
const MAX_LINE = 80;
const LINE = /^[0-9A-F]{40}(?::\d{1,12})?\r?$/i;
const RANGE_FILE = /^[0-9A-F]{5}(?:\.txt)?$/i;

/**
 * Returns true if a collection of breached passwords has the SHA-1 hash of a password. The collection has passwords as they
 * were typed, so both forms of accents are looked up. It has one of the formats of Have I Been Pwned.
 * @param path a file with sorted lines `hash:count`, or a folder with a file per range, such as `21BD1` or `21BD1.txt`,
 * with lines `rest of the hash:count`. Entries with count 0 are padding.
 */
export async function isBreached(path: string, password: string): Promise<boolean> {
  const { isDirectory } = await Deno.stat(path);
  const isIn = isDirectory ? isInFolder : isInFile;
  for (const form of new Set([password.normalize("NFC"), password.normalize("NFD")])) {
    const hash = createHash("sha1").update(form).digest("hex").toUpperCase();
    if (await isIn(path, hash)) return true;
  }
  return false;
}

/**
 * Checks at start that the setting names a usable file or folder, if it is set.
 * @throws Error that names the path
 */
export async function requireBreachedPasswords(path: string | null): Promise<void> {
  if (path === null) return;
  const broken = (reason: string) =>
    new Error(
      `BREACHED_PASSWORDS names ${path}, ${reason}; expected a file with sorted lines "SHA1:count", or a folder with range files such as 21BD1.txt`,
    );
  try {
    const { isDirectory } = await Deno.stat(path);
    if (isDirectory) {
      for await (const { name } of Deno.readDir(path)) if (RANGE_FILE.test(name)) return;
      throw broken("a folder without range files");
    }
    using file = await Deno.open(path);
    const first = (await readAt(file, 0)).split("\n")[0] ?? "";
    if (!LINE.test(first)) throw broken("whose first line is not a SHA-1 hash");
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw broken("which does not exist");
    if (error instanceof Deno.errors.NotCapable || error instanceof Deno.errors.PermissionDenied) {
      throw broken("which this process may not read (see --allow-read)");
    }
    throw error;
  }
}

async function isInFolder(folder: string, hash: string): Promise<boolean> {
  const [range, rest] = [hash.slice(0, 5), hash.slice(5)];
  for (const name of [range, `${range}.txt`]) {
    try {
      const text = await Deno.readTextFile(join(folder, name));
      return text.split("\n").some((line) => isEntry(line, rest));
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return false; // the folder has only some ranges
}

const isEntry = (line: string, hash: string): boolean => {
  const [found = "", count = "1"] = line.trim().split(":");
  return found.toUpperCase() === hash && Number(count) > 0;
};

/** Binary search by byte position: reads some forty lines of a file of any size. */
async function isInFile(path: string, hash: string): Promise<boolean> {
  using file = await Deno.open(path);
  let [low, high] = [0, (await file.stat()).size]; // the line starts at or after `low` and before `high`
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const text = await readAt(file, Math.max(0, middle - 1));
    // The first line that starts at or after the middle: after a line end, unless the middle is the start of the file.
    const start = middle === 0 ? 0 : text.indexOf("\n") + 1;
    const line = middle > 0 && start === 0 ? "" : (text.slice(start).split("\n")[0] ?? "");
    const found = line.trim().slice(0, 40).toUpperCase();
    if (found === hash) return isEntry(line, hash);
    if (found === "" || found > hash) high = middle;
    else low = middle + 1;
  }
  return false;
}

/** The text of at most two lines at a byte position. */
async function readAt(file: Deno.FsFile, position: number): Promise<string> {
  await file.seek(position, Deno.SeekMode.Start);
  const bytes = new Uint8Array(2 * MAX_LINE);
  let length = 0;
  while (length < bytes.length) {
    const read = await file.read(bytes.subarray(length));
    if (read === null) break;
    length += read;
  }
  return new TextDecoder().decode(bytes.subarray(0, length));
}
