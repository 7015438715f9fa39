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

/** Archives that a scanner must reject, with the reason it gives. */
export const bombs: { name: string; reason: RegExp; content: () => Uint8Array }[] = [
  { name: "four zips in each other", reason: /nested more than 3 levels/, content: () => nested(4) },
  { name: "1,001 entries", reason: /more than 1000 entries/, content: () => zip(files(1_001)) },
  {
    name: "1,001 entries of two archives",
    reason: /more than 1000 entries/,
    content: () => tar([["a.zip", zip(files(500))], ["a.zip", zip(files(500))]]),
  },
  {
    name: "more than a hundred times its size",
    reason: /more than 100 times/,
    content: () => zip([["a", blanks(1_000_000)]]),
  },
  { name: "an entry that only the directory lists", reason: /directory/, content: withUnlistedEntry },
  { name: "a directory within an entry", reason: /directory/, content: withDirectoryInEntry },
  { name: "an entry that its directory names twice", reason: /directory/, content: withEntryTwice },
  { name: "such an entry behind a PDF", reason: /directory/, content: () => join(pdf(), withEntryTwice()) },
  {
    name: "a zip of blanks behind a PDF",
    reason: /more than 100 times/,
    content: () => join(pdf(), zip([["a", blanks(1_000_000)]])),
  },
  {
    name: "a zip that an entry hides",
    reason: /directory/,
    content: () => join(hiding(), zip([["a", text]])),
  },
  {
    name: "a zip that an entry behind a PDF hides",
    reason: /directory/,
    content: () => join(pdf(), hiding(), zip([["a", text]])),
  },
  {
    name: "a zip behind a tar",
    reason: /directory/,
    content: () => join(tar([["a", noise(600)]]), zip([["a", text]])),
  },
  {
    name: "methods of which local header and directory differ",
    reason: /directory/,
    content: () => {
      const lying = zip([["a", text]]);
      lying[8] = 0;
      return lying;
    },
  },
  {
    name: "an entry of the method LZMA that says it is small",
    reason: /may unpack to more than \d00000000 bytes/,
    content: () => withMethod(zip([["a", { packed: noise(40_000), sizeBytes: 10 }]]), 14),
  },
  {
    name: "an entry of the method bzip2 that says it is small",
    reason: /may unpack to more than \d00000000 bytes/,
    content: () => withMethod(zip([["a", { packed: noise(300), sizeBytes: 10 }]]), 12),
  },
  {
    name: "chunks of 320 MiB in an xz in a zip",
    reason: /unpacks to more than \d00000000 bytes/,
    content: () => zip([["a.xz", xz(160)]]),
  },
];

/** Further ones, which are unpacked to 200 MB. */
export const largeBombs: typeof bombs = [
  {
    name: "more than 200 MB",
    reason: /more than 200000000 bytes/,
    content: () => zip([["a", packedBlanks(10)]]),
  },
  {
    name: "more than 200 MB in a gzip",
    reason: /more than 200000000 bytes/,
    content: () => rawGzip(packedBlanks(10).packed),
  },
];
