/** Minimum contrast of text, WCAG 2.2 success criterion 1.4.3. */
export const READABLE_CONTRAST = 4.5;

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

/** `colour` if text of it is readable on `background`, otherwise `fallback`: for links and headings. */
export const readableOr = (colour: string, background: string, fallback: string): string =>
  contrastOf(colour, background) >= READABLE_CONTRAST ? colour : fallback;
