import { type Direction, type FontName, loadFont } from "../../../../infra/fonts/fonts.ts";
import { ascii, type PdfFile } from "./pdf_file.ts";

/** A glyph with its place relative to the pen. Lengths are thousandths of the font size. */
export interface PlacedGlyph {
  glyph: number;
  /** The advance width of the glyph itself. */
  width: number;
  /** The distance that the pen moves. In shaped text it may differ from `width`. */
  advance: number;
  x: number;
  y: number;
}

/** Code points that are looked up in an array, as they are the most frequent. */
const QUICK = 0x180;

/** A font of one PDF. Only the glyphs that were used are embedded. */
export class EmbeddedFont {
  readonly id: number;
  readonly #font;
  readonly #scale: number;
  readonly #subset;
  readonly #quick = new Int32Array(QUICK).fill(-1);
  readonly #glyphs = new Map<number, number>();
  /** Width of each embedded glyph in thousandths of the font size, and the characters it stands for. */
  readonly #widths: number[] = [];
  readonly #characters: number[][] = [];

  constructor(
    /** Its name in content. */
    readonly name: string,
    readonly font: FontName,
    private readonly file: PdfFile,
  ) {
    this.id = file.reserve();
    this.#font = loadFont(font);
    this.#scale = 1000 / this.#font.unitsPerEm;
    this.#subset = this.#font.createSubset();
    this.#widths.push(this.#font.getGlyph(0).advanceWidth * this.#scale);
    this.#characters.push([0xfffd]);
  }

  /** The glyph of a character of unshaped text. */
  glyphOf(codePoint: number): number {
    const known = codePoint < QUICK ? this.#quick[codePoint] ?? -1 : this.#glyphs.get(codePoint) ?? -1;
    if (known >= 0) return known;
    const found = this.#font.glyphForCodePoint(codePoint);
    const glyph = this.#include(found.id, found.advanceWidth, [codePoint]);
    if (codePoint < QUICK) this.#quick[codePoint] = glyph;
    else this.#glyphs.set(codePoint, glyph);
    return glyph;
  }

  /** Width of an embedded glyph in thousandths of the font size. */
  widthOf(glyph: number): number {
    return this.#widths[glyph] ?? 0;
  }

  /** Shapes a text, such as Arabic or Devanagari, with the tables of the font. */
  shape(text: string, direction: Direction): PlacedGlyph[] {
    const { glyphs, positions } = this.#font.layout(text, direction);
    return glyphs.map(({ id, advanceWidth, codePoints }, i) => {
      const { xAdvance, xOffset, yOffset } = positions[i] ??
        { xAdvance: advanceWidth, xOffset: 0, yOffset: 0 };
      return {
        glyph: this.#include(id, advanceWidth, codePoints),
        width: advanceWidth * this.#scale,
        advance: xAdvance * this.#scale,
        x: xOffset * this.#scale,
        y: yOffset * this.#scale,
      };
    });
  }

  /** Writes the font with the used glyphs. */
  end(): void {
    const { file } = this;
    const font = this.#font;
    const data = this.#subset.encode();
    const fontFile = file.writeStream(data, `/Length1 ${data.length}`);
    const name = `${tagOf(this.name)}+${font.postscriptName.replaceAll(" ", "_")}`;
    const scaled = (value: number) => Math.round(value * this.#scale);
    const { minX, minY, maxX, maxY } = font.bbox;
    const box = [minX, minY, maxX, maxY].map(scaled).join(" ");
    const capHeight = scaled(font.capHeight || font.ascent);
    const descriptor = file.write(
      `<</Type/FontDescriptor/FontName/${name}/Flags 4/FontBBox[${box}]/ItalicAngle 0` +
        `/Ascent ${scaled(font.ascent)}/Descent ${scaled(font.descent)}/CapHeight ${capHeight}` +
        `/StemV 80/FontFile2 ${fontFile} 0 R>>`,
    );
    const widths = this.#widths.map((width) => Math.round(width * 100) / 100).join(" ");
    const descendant = file.write(
      `<</Type/Font/Subtype/CIDFontType2/BaseFont/${name}/CIDToGIDMap/Identity` +
        `/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>` +
        `/FontDescriptor ${descriptor} 0 R/W[0[${widths}]]>>`,
    );
    const unicode = file.writeStream(ascii(unicodeMap(this.#characters)));
    file.write(
      `<</Type/Font/Subtype/Type0/BaseFont/${name}/Encoding/Identity-H` +
        `/DescendantFonts[${descendant} 0 R]/ToUnicode ${unicode} 0 R>>`,
      this.id,
    );
  }

  #include(id: number, advanceWidth: number, codePoints: number[]): number {
    const glyph = this.#subset.includeGlyph(id);
    this.#widths[glyph] ??= advanceWidth * this.#scale;
    this.#characters[glyph] ??= codePoints;
    return glyph;
  }
}

/** The tag of six letters that names a subset of a font. */
const tagOf = (name: string): string =>
  Array.from(name.padStart(6, "0"), (c) => String.fromCharCode(65 + c.charCodeAt(0) % 26)).join("");

/** The CMap that tells readers which characters the glyphs stand for, so that text can be searched and copied. */
function unicodeMap(characters: number[][]): string {
  const ranges: string[] = [];
  for (let from = 0; from < characters.length; from += 256) {
    const part = characters.slice(from, from + 256);
    const entries = part.map((codePoints) => `<${codePoints.map(utf16).join("") || "fffd"}>`);
    ranges.push(`<${hex(from)}><${hex(from + part.length - 1)}>[${entries.join("")}]`);
  }
  const blocks: string[] = [];
  for (let from = 0; from < ranges.length; from += 100) {
    const part = ranges.slice(from, from + 100);
    blocks.push(`${part.length} beginbfrange\n${part.join("\n")}\nendbfrange`);
  }
  return `/CIDInit/ProcSet findresource begin
12 dict begin
begincmap
/CIDSystemInfo<</Registry(Adobe)/Ordering(UCS)/Supplement 0>>def
/CMapName/Adobe-Identity-UCS def
/CMapType 2 def
1 begincodespacerange
<0000><ffff>
endcodespacerange
${blocks.join("\n")}
endcmap
CMapName currentdict/CMap defineresource pop
end
end
`;
}

const hex = (value: number): string => value.toString(16).padStart(4, "0");

const utf16 = (codePoint: number): string =>
  Array.from({ length: codePoint > 0xffff ? 2 : 1 }, (_, i) => String.fromCodePoint(codePoint).charCodeAt(i))
    .map(hex).join("");
