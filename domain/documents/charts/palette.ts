import { contrastOf } from "../../looks/colours.ts";

/** Minimum contrast of graphics, WCAG 2.2 success criterion 1.4.11. */
const MIN_CONTRAST = 3;
/** The number of colours: the maximum number of series and slices. */
export const PALETTE_SIZE = 8;
/** The hue of each colour, in degrees from the first one. Neighbours differ clearly. */
const HUE_SHIFTS = [0, 180, 90, 270, 45, 225, 135, 315];
/** Lightness of neighbours differs too, for readers who do not see the hues. */
const LIGHTNESS = [0, 0.12, -0.08, 0.16, 0.06, -0.12, 0.2, -0.04];
const MIN_CHROMA = 0.1;
const MAX_CHROMA = 0.17;

interface Oklch {
  lightness: number;
  chroma: number;
  hue: number;
}

/**
 * The colours of series and slices: the first is the tenant's own, the others are made from it. Each has a contrast of at
 * least 3:1 on `background`.
 */
export function paletteOf(primary: string, background: string): string[] {
  const base = toOklch(primary);
  const chroma = Math.min(MAX_CHROMA, Math.max(MIN_CHROMA, base.chroma));
  const lightness = Math.min(0.6, Math.max(0.5, base.lightness));
  return HUE_SHIFTS.map((shift, i) => {
    const colour = i === 0
      ? base
      : { lightness: lightness + (LIGHTNESS[i] ?? 0), chroma, hue: (base.hue + shift) % 360 };
    return withContrast(colour, background);
  });
}

/** The colour, darker on a light background or lighter on a dark one until its contrast is enough. */
function withContrast(colour: Oklch, background: string): string {
  const step = contrastOf(background, "#000000") > contrastOf(background, "#ffffff") ? -0.02 : 0.02;
  for (let lightness = colour.lightness; lightness >= 0 && lightness <= 1; lightness += step) {
    const found = fromOklch({ ...colour, lightness });
    if (contrastOf(found, background) >= MIN_CONTRAST) return found;
  }
  return step < 0 ? "#000000" : "#ffffff";
}

// Conversion between sRGB and OKLCH, by Björn Ottosson's definition of Oklab (public domain).

function toOklch(colour: string): Oklch {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  const a = 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s;
  const blue = 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s;
  return {
    lightness: 0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    chroma: Math.hypot(a, blue),
    hue: (Math.atan2(blue, a) * 180 / Math.PI + 360) % 360,
  };
}

function fromOklch({ lightness, chroma, hue }: Oklch): string {
  const a = chroma * Math.cos(hue * Math.PI / 180);
  const blue = chroma * Math.sin(hue * Math.PI / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * blue) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * blue) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * blue) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const bytes = linear.map((given) => {
    const value = Math.min(1, Math.max(0, given));
    const share = value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055;
    return Math.round(share * 255).toString(16).padStart(2, "0");
  });
  return `#${bytes.join("")}`;
}
