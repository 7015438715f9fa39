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

/** A font as read from its file, shared by all documents; what else it can do is between it and the PDF writer. */
export interface LoadedFont {
  unitsPerEm: number;
  hasGlyphForCodePoint(codePoint: number): boolean;
  glyphForCodePoint(codePoint: number): { advanceWidth: number };
}

const loaded = new Map<FontName, LoadedFont>();

/** The font of this name, unpacked and parsed at its first use: nobody pays for scripts that no document has. */
export function loadFont(name: FontName): LoadedFont {
  let font = loaded.get(name);
  if (!font) {
    const packed = Deno.readFileSync(join(import.meta.dirname ?? ".", `${FILES[name]}.ttf.gz`));
    loaded.set(name, font = create(gunzipSync(packed)) as unknown as LoadedFont);
  }
  return font;
}
