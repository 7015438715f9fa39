import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { inflateSync } from "node:zlib";

/** The objects of a PDF by number: their syntax, and the content of those that have one. */
export interface PdfObjects {
  syntax: Map<number, string>;
  contents: Map<number, string>;
}

/** Bytes as characters of the same number. A TextDecoder would map 0x80 to 0x9f as Windows does. */
const characters = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");

/** Reads a PDF by its cross-reference stream, as viewers do. Fails if an object is not where the stream says. */
export function pdfObjects(bytes: Uint8Array): PdfObjects {
  const file = characters(bytes);
  assert.ok(file.startsWith("%PDF-1.7\n") && file.endsWith("\n%%EOF\n"));
  const objects: PdfObjects = { syntax: new Map(), contents: new Map() };
  const start = Number(/startxref\n(\d+)\n%%EOF\n$/.exec(file)?.[1]);
  const id = Number(/^\d+/.exec(file.slice(start))?.[0]);
  readObject(bytes, file, id, start, objects);
  const references = objects.syntax.get(id) ?? "";
  const size = Number(/\/Size (\d+)/.exec(references)?.[1]);
  const entries = entriesOf(objects.contents.get(id) ?? "", size);
  for (const [number, { kind, place }] of entries.entries()) {
    if (kind === 1) readObject(bytes, file, number, place, objects);
  }
  for (const [number, { kind, place, index }] of entries.entries()) {
    if (kind === 2) objects.syntax.set(number, packedObject(objects, number, place, index));
  }
  return objects;
}

/** The decoded content of the pages, in their order. */
export const pageContents = (objects: PdfObjects): string[] =>
  pages(objects).map((page) => objects.contents.get(numberAfter(page, "/Contents")) ?? "");

/** The texts drawn on each page, one for each drawing operator. */
export function pageTexts(objects: PdfObjects): string[][] {
  const root = [...objects.syntax.values()].find((text) => text.includes("/Type/Pages/Count")) ?? "";
  const fonts = new Map(
    [.../\/Font<<(.*?)>>/.exec(root)?.[1]?.matchAll(/\/(F\d+) (\d+) 0 R/g) ?? []].map(([, name = "", id]) => {
      const map = numberAfter(objects.syntax.get(Number(id)) ?? "", "/ToUnicode");
      return [name, glyphTexts(objects.contents.get(map) ?? "")];
    }),
  );
  return pageContents(objects).map((content) => {
    let font: string[] = [];
    const texts: string[] = [];
    for (const [, name, glyphs] of content.matchAll(/\/(F\d+) [\d.]+ Tf|<((?:[0-9a-f]{4})+)>(?=\]?T[jJ])/g)) {
      if (name !== undefined) font = fonts.get(name) ?? [];
      else {texts.push(
          (glyphs?.match(/..../g) ?? []).map((glyph) => font[parseInt(glyph, 16)] ?? "").join(""),
        );}
    }
    return texts;
  });
}

/** The text of each glyph, from a font's map to Unicode. */
const glyphTexts = (map: string): string[] =>
  [...map.matchAll(/\[((?:<\w+>)+)\]/g)].flatMap(([, entries = ""]) =>
    [...entries.matchAll(/<(\w+)>/g)].map(([, hex]) => textOf(`feff${hex}`))
  );

/** The syntax of the pages, in their order. */
export function pages({ syntax }: PdfObjects): string[] {
  const catalog = [...syntax.values()].find((text) => text.includes("/Type/Catalog")) ?? "";
  const kidsOf = (id: number): string[] => {
    const text = syntax.get(id) ?? "";
    if (text.includes("/Type/Page/")) return [text];
    const kids = /\/Kids\[([^\]]*)\]/.exec(text)?.[1] ?? "";
    return [...kids.matchAll(/(\d+) 0 R/g)].flatMap(([, kid]) => kidsOf(Number(kid)));
  };
  return kidsOf(numberAfter(catalog, "/Pages"));
}

/** The elements of the structure tree with this role, by number. */
export const withRole = ({ syntax }: PdfObjects, role: string): Map<number, string> =>
  new Map([...syntax].filter(([, text]) => text.includes(`/S/${role}/`)));

/** The number of the object that an entry refers to. */
export const numberAfter = (syntax: string, entry: string): number =>
  Number(new RegExp(`${entry} (\\d+) 0 R`).exec(syntax)?.[1]);

export const textOf = (hex: string): string =>
  String.fromCharCode(...(hex.slice(4).match(/..../g) ?? []).map((unit) => parseInt(unit, 16)));

interface Entry {
  kind: number;
  place: number;
  index: number;
}

/** Reads the entries of a cross-reference stream with the predictor "up". */
function entriesOf(content: string, size: number): Entry[] {
  const row = new Uint8Array(6);
  return Array.from({ length: size }, (_, n) => {
    assert.equal(content.charCodeAt(n * 7), 2);
    for (let i = 0; i < 6; i++) row[i] = (row[i] ?? 0) + content.charCodeAt(n * 7 + 1 + i);
    const view = new DataView(row.buffer);
    return { kind: view.getUint8(0), place: view.getUint32(1), index: view.getUint8(5) };
  });
}

function readObject(bytes: Uint8Array, file: string, id: number, at: number, objects: PdfObjects): void {
  const head = `${id} 0 obj\n`;
  assert.equal(file.slice(at, at + head.length), head);
  const from = file.indexOf(">>stream\n", at) + 2;
  const syntax = file.slice(at + head.length, from);
  const length = Number(/\/Length (\d+)/.exec(syntax)?.[1]);
  const start = from + "stream\n".length;
  assert.equal(file.slice(start + length, start + length + 11), "\nendstream\n", `length of ${id}`);
  const stored = bytes.subarray(start, start + length);
  const content = syntax.includes("/FlateDecode") ? inflateSync(stored) : stored;
  objects.syntax.set(id, syntax);
  objects.contents.set(id, characters(content));
}

function packedObject({ syntax, contents }: PdfObjects, id: number, stream: number, index: number): string {
  const content = contents.get(stream) ?? "";
  const first = Number(/\/First (\d+)/.exec(syntax.get(stream) ?? "")?.[1]);
  const numbers = content.slice(0, first).trim().split(" ").map(Number);
  assert.equal(numbers[index * 2], id);
  return content.slice(first + (numbers[index * 2 + 1] ?? 0), first + (numbers[index * 2 + 3] ?? Infinity))
    .trimEnd();
}
