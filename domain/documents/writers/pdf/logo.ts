import type { ImageSource } from "./image.ts";
import type { Pages } from "./pages.ts";

const MAX_WIDTH = 150;
const MAX_HEIGHT = 42;

/** Draws a logo in the top right corner of the first page. */
export function drawLogo(
  { canvas, frame }: Pages,
  logo: ImageSource,
  description: string,
): { width: number; bottom: number } {
  const scale = Math.min(MAX_WIDTH / logo.width, MAX_HEIGHT / logo.height, 0.75); // 0.75: 96 pixels to an inch
  const [width, height] = [logo.width * scale, logo.height * scale];
  const x = frame.right - width;
  const bottom = frame.top + height;
  canvas.element("Figure", () => canvas.image(logo, x, frame.top, width, height), {
    alt: description,
    box: [x, canvas.height - bottom, frame.right, canvas.height - frame.top],
  });
  return { width, bottom };
}
