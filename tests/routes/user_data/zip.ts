import type { Buffer } from "node:buffer";
import { inflateRawSync } from "node:zlib";

const CENTRAL = 0x02014b50;
const END = 0x06054b50;

/** The files of a ZIP archive as text, by path, read from its central directory. */
export function unzipped(archive: Buffer): Record<string, string> {
  let end = archive.length - 22;
  while (archive.readUInt32LE(end) !== END) end--;
  const files: Record<string, string> = {};
  let at = archive.readUInt32LE(end + 16);
  for (let i = archive.readUInt16LE(end + 10); i > 0; i--) {
    if (archive.readUInt32LE(at) !== CENTRAL) {
      throw new Error("the central directory of the archive is broken");
    }
    const [size, nameLength] = [archive.readUInt32LE(at + 20), archive.readUInt16LE(at + 28)];
    const [extra, comment] = [archive.readUInt16LE(at + 30), archive.readUInt16LE(at + 32)];
    const local = archive.readUInt32LE(at + 42);
    const path = archive.subarray(at + 46, at + 46 + nameLength).toString();
    const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    files[path] = inflateRawSync(archive.subarray(start, start + size)).toString();
    at += 46 + nameLength + extra + comment;
  }
  return files;
}
