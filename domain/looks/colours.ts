/** Minimum contrast of text, WCAG 2.2 success criterion 1.4.3. */
export const READABLE_CONTRAST = 4.5;

/**
 * The colours of mails, hosted pages and the console, each in the light and the dark theme. The console has them as CSS
 * (`routes/console/assets/style/tokens.css`).
 */
export const THEME = {
  bg: ["#f5f6f8", "#0f1318"],
  surface: ["#ffffff", "#161b22"],
  line: ["#dfe3e8", "#29313c"],
  "line-strong": ["#878f9b", "#6d7887"],
  text: ["#18202b", "#e4e8ee"],
  muted: ["#566070", "#9da8b7"],
  bad: ["#b3261e", "#ff8f85"],
} as const;

const WHITE = "#ffffff";
const BLACK = "#000000";

/** Relative luminance as WCAG 2.2 defines it, 0 (black) to 1 (white). */
function luminance(colour: string): number {
  const linear = (at: number) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(1) + 0.7152 * linear(3) + 0.0722 * linear(5);
}

/** Contrast ratio of two colours, 1 to 21. */
export function contrastOf(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

/** White or black, whichever is more readable on `background`; its contrast is at least 4.58. */
export const readableTextOn = (background: string): string =>
  contrastOf(background, WHITE) >= contrastOf(background, BLACK) ? WHITE : BLACK;

/**
 * The shade of `colour` that is readable as text on `background`: itself, or mixed with as little black or white as needed.
 * It is for links and headings.
 */
export function readableShade(colour: string, background: string): string {
  const end = readableTextOn(background);
  const part = (of: string, at: number) => Number.parseInt(of.slice(at, at + 2), 16);
  for (let share = 0;; share += 5) {
    const mixed = [1, 3, 5].map((at) =>
      Math.round((part(colour, at) * (100 - share) + part(end, at) * share) / 100)
    );
    const shade = `#${mixed.map((each) => each.toString(16).padStart(2, "0")).join("")}`;
    if (share === 100 || contrastOf(shade, background) >= READABLE_CONTRAST) return shade;
  }
}
