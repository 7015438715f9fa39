import { create } from "fontkit";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

const FILES = {
  sans: "noto-sans-regular",
  bold: "noto-sans-bold",
  symbols: "dejavu-sans",
  cjk: "droid-sans-fallback",
  emoji: "noto-emoji-regular",
  bengali: "noto-sans-bengali",
  canadian: "noto-sans-canadian",
  cherokee: "noto-sans-cherokee",
  ethiopic: "noto-sans-ethiopic",
  gujarati: "noto-sans-gujarati",
  gurmukhi: "noto-sans-gurmukhi",
  kannada: "noto-sans-kannada",
  khmer: "noto-sans-khmer",
  lao: "noto-sans-lao",
  malayalam: "noto-sans-malayalam",
  mongolian: "noto-sans-mongolian",
  myanmar: "noto-sans-myanmar",
  nko: "noto-sans-nko",
  oriya: "noto-sans-oriya",
  sinhala: "noto-sans-sinhala",
  syriac: "noto-sans-syriac",
  tamil: "noto-sans-tamil",
  telugu: "noto-sans-telugu",
  thaana: "noto-sans-thaana",
  thai: "noto-sans-thai",
  tibetan: "noto-serif-tibetan",
  tifinagh: "noto-sans-tifinagh",
  yi: "noto-sans-yi",
} as const;
export type FontName = keyof typeof FILES;

interface Glyph {
  id: number;
  advanceWidth: number;
  /** The characters that it stands for. */
  codePoints: number[];
}

export type Direction = "ltr" | "rtl";

/** Glyphs from left to right, and how each moves the pen. */
interface GlyphRun {
  glyphs: Glyph[];
  positions: { xAdvance: number; xOffset: number; yOffset: number }[];
}

/** A parsed font, shared by all documents. Lengths are in `unitsPerEm`. */
export interface LoadedFont {
  postscriptName: string;
  unitsPerEm: number;
  ascent: number;
  descent: number;
  capHeight: number;
  bbox: { minX: number; minY: number; maxX: number; maxY: number };
  hasGlyphForCodePoint(codePoint: number): boolean;
  glyphForCodePoint(codePoint: number): Glyph;
  getGlyph(id: number): Glyph;
  /**
   * Shapes a text with the tables of the font.
   * @param direction in which it is read: the digits of Arabic are read from left to right
   */
  layout(text: string, direction: Direction): GlyphRun;
  /** A font file with some of the glyphs. `includeGlyph` adds one and returns its number in the subset. */
  createSubset(): { includeGlyph(id: number): number; encode(): Uint8Array };
}

/** Unicode blocks and their fonts: first code point, last code point, font name. */
const BLOCKS: [number, number, FontName][] = [
  [0x0700, 0x074f, "syriac"],
  [0x0780, 0x07bf, "thaana"],
  [0x07c0, 0x07ff, "nko"],
  [0x0980, 0x09ff, "bengali"],
  [0x0a00, 0x0a7f, "gurmukhi"],
  [0x0a80, 0x0aff, "gujarati"],
  [0x0b00, 0x0b7f, "oriya"],
  [0x0b80, 0x0bff, "tamil"],
  [0x0c00, 0x0c7f, "telugu"],
  [0x0c80, 0x0cff, "kannada"],
  [0x0d00, 0x0d7f, "malayalam"],
  [0x0d80, 0x0dff, "sinhala"],
  [0x0e00, 0x0e7f, "thai"],
  [0x0e80, 0x0eff, "lao"],
  [0x0f00, 0x0fff, "tibetan"],
  [0x1000, 0x109f, "myanmar"],
  [0x1200, 0x139f, "ethiopic"],
  [0x13a0, 0x13ff, "cherokee"],
  [0x1400, 0x167f, "canadian"],
  [0x1780, 0x17ff, "khmer"],
  [0x1800, 0x18af, "mongolian"],
  [0x18b0, 0x18ff, "canadian"],
  [0x19e0, 0x19ff, "khmer"],
  [0x2d30, 0x2d7f, "tifinagh"],
  [0x2d80, 0x2ddf, "ethiopic"],
  [0xa000, 0xa4cf, "yi"],
  [0xa9e0, 0xa9ff, "myanmar"],
  [0xaa60, 0xaa7f, "myanmar"],
  [0xab00, 0xab2f, "ethiopic"],
  [0xab70, 0xabbf, "cherokee"],
];

/** The font for the script of a character; null if no special font exists for it. */
export function scriptFont(codePoint: number): FontName | null {
  if (codePoint < 0x0700 || codePoint > 0xabbf) return null;
  return BLOCKS.find(([from, to]) => codePoint >= from && codePoint <= to)?.[2] ?? null;
}

const loaded = new Map<FontName, LoadedFont>();

/** Returns a font. It is unpacked and parsed at its first use, so unused scripts cost nothing. */
export function loadFont(name: FontName): LoadedFont {
  let font = loaded.get(name);
  if (!font) {
    const packed = Deno.readFileSync(join(import.meta.dirname ?? ".", `${FILES[name]}.ttf.gz`));
    font = withSafeLayout(create(gunzipSync(packed)) as unknown as ParsedFont);
    loaded.set(name, font);
  }
  return font;
}

/**
 * Text of scripts that are drawn as one glyph per character: Latin, Greek, Cyrillic, Armenian and Georgian without
 * combining marks, symbols, Chinese, Japanese and Korean.
 */
const UNSHAPED =
  /^[\x20-\x7e\u00a0-\u02af\u0370-\u0482\u048a-\u0556\u0561-\u0587\u10a0-\u10ff\u1e00-\u1fff\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2100-\u2bff\u3000-\u3029\u3041-\u3096\u309b-\u30ff\u3400-\u9fff\uac00-\ud7a3\uff01-\uffef]*$/;

/** Is each character of the text drawn as one glyph? The fonts' tables contain only kerning for such text. */
export const isUnshaped = (text: string): boolean => UNSHAPED.test(text);

interface ParsedFont extends Omit<LoadedFont, "layout"> {
  layout(text: string, features: [], script?: string, language?: string, direction?: Direction): GlyphRun;
}

const MAX_KNOWN_LAYOUTS = 5_000;

/**
 * Lets a text that the font cannot shape be drawn as one glyph per character. A text is shaped once to be measured and
 * drawn.
 */
function withSafeLayout(font: ParsedFont): LoadedFont {
  const known = new Map<string, GlyphRun>();
  const shape = (text: string, direction: Direction): GlyphRun => {
    try {
      return font.layout(text, [], undefined, undefined, direction);
    } catch {
      // fontkit fails on combining marks in unusual places. Such a text must not make the whole document fail.
      const glyphs = Array.from(text, (character) => font.glyphForCodePoint(character.codePointAt(0) ?? 0));
      const positions = glyphs.map(({ advanceWidth }) => ({
        xAdvance: advanceWidth,
        xOffset: 0,
        yOffset: 0,
      }));
      return { glyphs, positions };
    }
  };
  return Object.assign(Object.create(font) as LoadedFont, {
    layout(text: string, direction: Direction): GlyphRun {
      const key = direction + text;
      let run = known.get(key);
      if (!run) {
        if (known.size >= MAX_KNOWN_LAYOUTS) known.clear();
        known.set(key, run = shape(text, direction));
      }
      return run;
    },
  });
}
