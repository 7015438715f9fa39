import { Buffer } from "node:buffer";
import { eicar, noise } from "../../support/content.ts";
import { join, packedBlanks, pdf, rawGzip, tar, withMethod, zip } from "../../support/samples.ts";

const text = "nothing here ".repeat(100);
export const blanks = (bytes: number) => new Uint8Array(bytes).fill(0x20);

/** The EICAR test file in `depth` zips in each other. */
export const nested = (depth: number): Uint8Array =>
  depth === 0 ? eicar() : zip([["note.txt", text], ["inner", nested(depth - 1)]]);

const files = (count: number) => Array.from({ length: count }, (_, n): [string, string] => [`${n}.txt`, ""]);

function withUnlistedEntry(): Uint8Array {
  const hidden = zip([["note.txt", text]], { store: true });
  const shown = zip([["a.bin", Buffer.concat([Buffer.from("x"), hidden])]], { store: true });
  const inside = 30 + "a.bin".length + 1;
  const lying = shown.slice();
  const directory = lying.length - 22 - 46 - "a.bin".length;
  new DataView(lying.buffer).setUint32(directory + 42, inside, true);
  return lying;
}

function withDirectoryInEntry(): Uint8Array {
  const hidden = zip([["note.txt", text]], { store: true });
  const shown = zip([["a.bin", Buffer.concat([Buffer.from("x"), hidden])]], { store: true }).slice();
  const inside = 30 + "a.bin".length + 1;
  const view = new DataView(shown.buffer);
  view.setUint32(shown.length - 22 + 16, inside + hidden.length - 22 - 46 - "note.txt".length, true);
  return shown;
}

/** An xz file with as many chunks, each of which says that it unpacks to 2 MiB. */
export function xz(chunks: number): Uint8Array {
  const header = Uint8Array.of(0xfd, 0x37, 0x7a, 0x58, 0x5a, 0, 0, 1, 0, 0, 0, 0);
  const block = Uint8Array.of(2, 0, 0x21, 1, 0x16, 0, 0, 0, 0, 0, 0, 0);
  const chunk = Uint8Array.of(0xff, 0xff, 0xff, 0, 0, 0x5d, 0);
  return join(header, block, ...Array(chunks).fill(chunk), new Uint8Array(40));
}

/** A zip of one entry whose directory names it twice. */
function withEntryTwice(): Uint8Array {
  const once = zip([["a", text]]);
  const from = once.length - 22 - 46 - 1;
  const line = once.subarray(from, from + 47);
  const end = once.slice(from + 47);
  const view = new DataView(end.buffer);
  view.setUint16(8, 2, true);
  view.setUint16(10, 2, true);
  view.setUint32(12, 2 * line.length, true);
  return join(once.subarray(0, from), line, line, end);
}

/** The header of a stored entry that reaches behind any end, and hides what follows from a reader. */
const hiding = () =>
  join(
    Uint8Array.of(0x50, 0x4b, 3, 4, 20),
    new Uint8Array(13),
    new Uint8Array(8).fill(0xfe),
    Uint8Array.of(1, 0, 0, 0, 97),
  );

interface Bomb {
  name: string;
  reason: RegExp;
  content: () => Uint8Array;
}
const bomb = (name: string, reason: RegExp, content: () => Uint8Array): Bomb => ({ name, reason, content });

function withOtherMethod(): Uint8Array {
  const lying = zip([["a", text]]);
  lying[8] = 0;
  return lying;
}

const RATIO = /more than 100 times/;
const PACKED = /may unpack to more than \d00000000 bytes/;
const small = (bytes: number) => zip([["a", { packed: noise(bytes), sizeBytes: 10 }]]);
const manyBlanks = () => zip([["a", blanks(1_000_000)]]);
const twoZips = (): [string, Uint8Array][] => [["a.zip", zip(files(500))], ["a.zip", zip(files(500))]];

/** Archives that a scanner must reject, with the reason it gives. */
export const bombs: Bomb[] = [
  bomb("four zips in each other", /nested more than 3 levels/, () => nested(4)),
  bomb("1,001 entries", /more than 1000 entries/, () => zip(files(1_001))),
  bomb("1,001 entries of two archives", /more than 1000 entries/, () => tar(twoZips())),
  bomb("more than a hundred times its size", RATIO, manyBlanks),
  bomb("an entry that only the directory lists", /directory/, withUnlistedEntry),
  bomb("a directory within an entry", /directory/, withDirectoryInEntry),
  bomb("an entry that its directory names twice", /directory/, withEntryTwice),
  bomb("such an entry behind a PDF", /directory/, () => join(pdf(), withEntryTwice())),
  bomb("a zip of blanks behind a PDF", RATIO, () => join(pdf(), manyBlanks())),
  bomb("a zip that an entry hides", /directory/, () => join(hiding(), zip([["a", text]]))),
  bomb(
    "a zip that an entry behind a PDF hides",
    /directory/,
    () => join(pdf(), hiding(), zip([["a", text]])),
  ),
  bomb("a zip behind a tar", /directory/, () => join(tar([["a", noise(600)]]), zip([["a", text]]))),
  bomb("methods of which local header and directory differ", /directory/, withOtherMethod),
  bomb("an entry of the method LZMA that says it is small", PACKED, () => withMethod(small(40_000), 14)),
  bomb("an entry of the method bzip2 that says it is small", PACKED, () => withMethod(small(300), 12)),
  bomb(
    "chunks of 320 MiB in an xz in a zip",
    /unpacks to more than \d00000000 bytes/,
    () => zip([["a.xz", xz(160)]]),
  ),
];

const LARGE = /more than 200000000 bytes/;
/** Further ones, which are unpacked to 200 MB. */
export const largeBombs: Bomb[] = [
  bomb("more than 200 MB", LARGE, () => zip([["a", packedBlanks(10)]])),
  bomb("more than 200 MB in a gzip", LARGE, () => rawGzip(packedBlanks(10).packed)),
];
