import type { RangeReader } from "./zip_content_type.ts";

const maxDirectorySectors = 256;
const lastSector = 0xfffffffa; // larger numbers are special markers, not sectors
const noEntry = 0xffffffff;

/** The main stream of each legacy Office type; it is a child of the container's root. */
const streams: Record<string, string> = {
  WordDocument: "application/msword",
  Workbook: "application/vnd.ms-excel",
  Book: "application/vnd.ms-excel",
  "PowerPoint Document": "application/vnd.ms-powerpoint",
};

/**
 * The content type of a Compound File (MS-CFB: `.doc`, `.xls`, `.ppt`, but also installers, mails and encrypted Office
 * documents): the legacy Office type whose main stream is in the root, otherwise `application/x-cfb`.
 */
export async function compoundContentType(read: RangeReader): Promise<string> {
  const header = await read(0, 512);
  const view = viewOf(header);
  const shift = header.length === 512 ? view.getUint16(30, true) : 0;
  if (shift !== 9 && shift !== 12) return "application/x-cfb";
  const directory = await readDirectory(read, view, 2 ** shift);
  const found = new Set(
    rootStreams(directory).map((name) => streams[name]).filter((type) => type !== undefined),
  );
  const [only] = found;
  return found.size === 1 && only !== undefined ? only : "application/x-cfb";
}

/**
 * Reads the directory's chain of sectors through the allocation table. If the file is damaged, returns what it has
 * read.
 */
async function readDirectory(read: RangeReader, header: DataView, sectorSize: number): Promise<Uint8Array> {
  const sectorAt = (number: number) => read((number + 1) * sectorSize, (number + 2) * sectorSize);
  const sectors: Uint8Array[] = [];
  let table: { index: number; view: DataView } | undefined;
  let sector = header.getUint32(48, true);
  while (sector < lastSector && sectors.length < maxDirectorySectors) {
    const bytes = await sectorAt(sector);
    if (bytes.length < sectorSize) break;
    sectors.push(bytes);
    const index = Math.floor(sector / (sectorSize / 4));
    if (index > 108) break; // the header lists 109 table sectors
    if (table?.index !== index) {
      table = { index, view: viewOf(await sectorAt(header.getUint32(76 + 4 * index, true))) };
    }
    const offset = 4 * (sector % (sectorSize / 4));
    if (offset + 4 > table.view.byteLength) break;
    sector = table.view.getUint32(offset, true);
  }
  return new Uint8Array(await new Blob(sectors.map((bytes) => Uint8Array.from(bytes))).arrayBuffer());
}

/** Names of the streams that are direct children of the root. The entries (128 bytes each) form a binary tree. */
function rootStreams(directory: Uint8Array): string[] {
  const view = viewOf(directory);
  const names: string[] = [];
  const seen = new Set<number>();
  const pending = directory.length >= 128 ? [view.getUint32(76, true)] : [];
  for (let entry = pending.pop(); entry !== undefined; entry = pending.pop()) {
    const at = entry * 128;
    if (entry === noEntry || seen.has(entry) || at + 128 > directory.length) continue;
    seen.add(entry);
    const nameBytes = Math.min(64, Math.max(2, view.getUint16(at + 64, true))) - 2;
    const isStream = view.getUint8(at + 66) === 2;
    if (isStream) names.push(new TextDecoder("utf-16le").decode(directory.subarray(at, at + nameBytes)));
    pending.push(view.getUint32(at + 68, true), view.getUint32(at + 72, true));
  }
  return names;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
