import { create } from "fontkit";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

const FILES = {
  sans: "noto-sans-regular",
  bold: "noto-sans-bold",
  symbols: "dejavu-sans",
  cjk: "droid-sans-fallback",
  emoji: "noto-emoji-regular",
} as const;
export type FontName = keyof typeof FILES;

interface Glyph {
  advanceWidth: number;
}

/** A font as read from its file, shared by all documents; what else it can do is between it and the PDF writer. */
export interface LoadedFont {
  postscriptName: string;
  unitsPerEm: number;
  hasGlyphForCodePoint(codePoint: number): boolean;
  glyphForCodePoint(codePoint: number): Glyph;
  layout(text: string, features?: unknown): unknown;
}

const loaded = new Map<FontName, LoadedFont>();

/** The font of this name, unpacked and parsed at its first use: nobody pays for scripts that no document has. */
export function loadFont(name: FontName): LoadedFont {
  let font = loaded.get(name);
  if (!font) {
    const packed = Deno.readFileSync(join(import.meta.dirname ?? ".", `${FILES[name]}.ttf.gz`));
    font = withQuickLayout(create(gunzipSync(packed)) as unknown as LoadedFont);
    loaded.set(name, font);
  }
  return font;
}

/** Latin text without combining marks: a glyph a character, side by side. */
const UNSHAPED = /^[\x20-\x7e\u00a0-\u017f]*$/;

/**
 * Lays plain Latin text out without asking the font's shaping tables, which have nothing to say about it but kerning:
 * that makes a table of words twenty times faster. All other text is shaped as the font wants it.
 */
function withQuickLayout(font: LoadedFont): LoadedFont {
  const glyphs = new Map<number, Glyph>();
  const glyphOf = (codePoint: number): Glyph => {
    let glyph = glyphs.get(codePoint);
    if (!glyph) glyphs.set(codePoint, glyph = font.glyphForCodePoint(codePoint));
    return glyph;
  };
  return Object.assign(Object.create(font) as LoadedFont, {
    layout(text: string, features?: unknown) {
      if (features !== undefined || !UNSHAPED.test(text)) return font.layout(text, features);
      const run = Array.from(text, (character) => glyphOf(character.codePointAt(0) ?? 0));
      return {
        glyphs: run,
        positions: run.map(({ advanceWidth }) => ({
          xAdvance: advanceWidth,
          yAdvance: 0,
          xOffset: 0,
          yOffset: 0,
        })),
        advanceWidth: run.reduce((sum, { advanceWidth }) => sum + advanceWidth, 0),
      };
    },
  });
}
