import { Buffer } from "node:buffer";
import { eicar } from "../../support/content.ts";
import { packedBlanks, rawGzip, tar, zip } from "../../support/samples.ts";

const text = "nothing here ".repeat(100);
export const blanks = (bytes: number) => new Uint8Array(bytes).fill(0x20);

/** The EICAR test file in `depth` zips in each other. */
export const nested = (depth: number): Uint8Array =>
  depth === 0 ? eicar() : zip([["note.txt", text], ["inner", nested(depth - 1)]]);

const files = (count: number) => Array.from({ length: count }, (_, n): [string, string] => [`${n}.txt`, ""]);

function withUnlistedEntry(): Uint8Array {
  const hidden = zip([["eicar.com", eicar()]], { store: true });
  const shown = zip([["a.bin", Buffer.concat([Buffer.from("x"), hidden])]], { store: true });
  const inside = 30 + "a.bin".length + 1;
  const lying = shown.slice();
  const directory = lying.length - 22 - 46 - "a.bin".length;
  new DataView(lying.buffer).setUint32(directory + 42, inside, true);
  return lying;
}

function withDirectoryInEntry(): Uint8Array {
  const hidden = zip([["eicar.com", eicar()]], { store: true });
  const shown = zip([["a.bin", Buffer.concat([Buffer.from("x"), hidden])]], { store: true }).slice();
  const inside = 30 + "a.bin".length + 1;
  const view = new DataView(shown.buffer);
  view.setUint32(shown.length - 22 + 16, inside + hidden.length - 22 - 46 - "eicar.com".length, true);
  return shown;
}

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
