// Makes pictures in a thread of its own, one at a time. The packages are loaded with the first picture.
import { parentPort } from "node:worker_threads";
import { PDFiumLibrary } from "@hyzyla/pdfium";
import sharp, { type Sharp } from "sharp";
import type { PictureAnswer, PictureInput, PictureSize } from "./pictures.ts";

/** Pixels of a source image, whatever its header says: 160 MB when unpacked. */
const MAX_PIXELS = 40_000_000;
const MAX_SECONDS = 15;

sharp.cache(false);
sharp.concurrency(1);
// Only these readers: others, such as those of SVG and TIFF, are open to more attacks.
sharp.block({ operation: ["VipsForeignLoad"] });
sharp.unblock({
  operation: ["Png", "Jpeg", "Webp", "Nsgif", "Heif"].map((format) => `VipsForeignLoad${format}`),
});

/** Decodes the first frame of an image and encodes it anew, upright and without metadata. */
async function make({ bytes, contentType, size }: PictureInput): Promise<PictureAnswer> {
  const limits = { limitInputPixels: MAX_PIXELS, failOn: "error" } as const;
  const source = contentType === "application/pdf"
    ? await firstPage(bytes, size)
    : sharp(bytes, limits).autoOrient();
  const { width, height, fit, format } = size;
  const { data, info } = await source
    .resize({ width, height, fit, withoutEnlargement: fit === "inside", background: "#00000000" })
    .flatten(format === "jpeg" ? { background: "#ffffff" } : false)
    .toColourspace("srgb").toFormat(format).timeout({ seconds: MAX_SECONDS })
    .toBuffer({ resolveWithObject: true });
  return { bytes: new Uint8Array(data), width: info.width, height: info.height };
}

/** Draws the first page of a PDF on white, with the pixels that the size needs. */
async function firstPage(
  bytes: Uint8Array,
  { width = 0, height = 0, fit }: PictureSize,
): Promise<Sharp> {
  const library = await PDFiumLibrary.init();
  try {
    const document = await library.loadDocument(bytes);
    const page = document.getPage(0);
    const { originalWidth, originalHeight } = page.getOriginalSize();
    const scales = [width / originalWidth, height / originalHeight].filter((scale) => scale > 0);
    const scale = fit === "cover" ? Math.max(...scales) : Math.min(...scales);
    const [pageWidth, pageHeight] = [originalWidth, originalHeight].map((points) =>
      Math.max(1, Math.round(points * scale))
    );
    if (!pageWidth || !pageHeight || pageWidth * pageHeight > MAX_PIXELS) {
      throw new Error(`the first page is ${originalWidth} x ${originalHeight} points, which cannot be drawn`);
    }
    const drawn = await page.render({ width: pageWidth, height: pageHeight, render: "bitmap" });
    document.destroy();
    const raw = { width: drawn.width, height: drawn.height, channels: 4 } as const;
    return sharp(drawn.data, { raw }).flatten({ background: "#ffffff" });
  } finally {
    library.destroy();
  }
}

parentPort?.on("message", async (input: PictureInput) => {
  const answer = await make(input).catch((error): PictureAnswer => ({
    refused: String(error.message ?? error),
  }));
  parentPort?.postMessage(answer, "bytes" in answer ? [answer.bytes.buffer as ArrayBuffer] : []);
});
