import { crc32, inflate } from "node:zlib";
import { promisify } from "node:util";
import { invalid } from "../problems/problem.ts";
import type { LogoFacts } from "./looks.ts";

/** Maximum size of a logo in bytes. */
export const MAX_LOGO_BYTES = 256 * 1024;
const MAX_PIXELS_A_SIDE = 2_000;

/**
 * Reads type and size of an image and checks that it is whole, because mail programs and the PDF writer decode it later.
 * @throws VALIDATION_ERROR on `body`
 */
export async function inspectLogo(content: Uint8Array): Promise<Omit<LogoFacts, "tag">> {
  const image = isPng(content)
    ? { contentType: "image/png", ...await inspectPng(content) } as const
    : isJpeg(content)
    ? { contentType: "image/jpeg", ...inspectJpeg(content) } as const
    : null;
  if (!image) throw mistake("the content is neither PNG nor JPEG; expected an image in one of these formats");
  const { width, height } = image;
  if (width < 1 || height < 1 || width > MAX_PIXELS_A_SIDE || height > MAX_PIXELS_A_SIDE) {
    throw mistake(`the image has ${width} x ${height} pixels; expected 1 to ${MAX_PIXELS_A_SIDE} a side`);
  }
  return image;
}

const mistake = (message: string) => invalid({ body: [message] });
const broken = (format: string) => mistake(`the ${format} image is damaged or incomplete`);

const PNG_SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const isPng = (content: Uint8Array) => PNG_SIGNATURE.every((byte, at) => content[at] === byte);

/** Samples of a pixel by PNG colour type, with the bit depths that the type allows. */
const PNG_COLOURS: Record<number, { samples: number; depths: number[] }> = {
  0: { samples: 1, depths: [1, 2, 4, 8, 16] },
  2: { samples: 3, depths: [8, 16] },
  3: { samples: 1, depths: [1, 2, 4, 8] },
  4: { samples: 2, depths: [8, 16] },
  6: { samples: 4, depths: [8, 16] },
};

/** Checks every chunk and that the compressed pixels have the expected size. */
async function inspectPng(content: Uint8Array): Promise<{ width: number; height: number }> {
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  const chunks: { type: string; data: Uint8Array }[] = [];
  let at = PNG_SIGNATURE.length;
  while (at + 12 <= content.length && chunks.at(-1)?.type !== "IEND") {
    const end = at + 8 + view.getUint32(at);
    if (end + 4 > content.length) throw broken("PNG");
    if (crc32(content.subarray(at + 4, end)) !== view.getUint32(end)) throw broken("PNG");
    chunks.push({
      type: String.fromCharCode(...content.subarray(at + 4, at + 8)),
      data: content.subarray(at + 8, end),
    });
    at = end + 4;
  }
  const [header] = chunks;
  if (header?.type !== "IHDR" || header.data.length !== 13) throw broken("PNG");
  if (chunks.at(-1)?.type !== "IEND" || at !== content.length) throw broken("PNG");
  const facts = new DataView(header.data.buffer, header.data.byteOffset, 13);
  const [width, height] = [facts.getUint32(0), facts.getUint32(4)];
  const [depth = 0, type = 0, , , interlaced] = header.data.subarray(8);
  if (interlaced) throw mistake("the PNG image is interlaced; expected one that is not");
  if (!PNG_COLOURS[type]?.depths.includes(depth)) throw broken("PNG");
  if (type === 3 && !chunks.some((chunk) => chunk.type === "PLTE")) throw broken("PNG");
  const size = { width, height };
  if (width > MAX_PIXELS_A_SIDE || height > MAX_PIXELS_A_SIDE) return size; // refused without being decompressed
  const expected = height * (1 + Math.ceil(width * depth * PNG_COLOURS[type].samples / 8));
  const compressed = chunks.filter((chunk) => chunk.type === "IDAT").map(({ data }) => data);
  if (await inflatedSize(concat(compressed), expected) !== expected) throw broken("PNG");
  return size;
}

const inflated = promisify(inflate);

/** Size of the decompressed content in bytes; null if it cannot be decompressed or is larger than `max` + 1. */
async function inflatedSize(compressed: Uint8Array, max: number): Promise<number | null> {
  try {
    return (await inflated(compressed, { maxOutputLength: max + 1 })).length;
  } catch {
    return null;
  }
}

function concat(parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const isJpeg = (content: Uint8Array) => content[0] === 0xff && content[1] === 0xd8 && content[2] === 0xff;

/** Start-of-frame markers of baseline, extended and progressive JPEG, which mail programs and PDF readers can show. */
const FRAMES = [0xc0, 0xc1, 0xc2];
const SCAN = 0xda;
const END = 0xd9;

/** Reads the segments up to the first scan, and checks that the file ends with the end marker. */
function inspectJpeg(content: Uint8Array): { width: number; height: number } {
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  let size: { width: number; height: number } | null = null;
  let at = 2;
  while (at + 4 <= content.length) {
    const marker = content[at + 1] ?? 0;
    const length = view.getUint16(at + 2);
    if (content[at] !== 0xff || length < 2 || at + 2 + length > content.length) throw broken("JPEG");
    if (FRAMES.includes(marker)) {
      const bits = content[at + 4];
      if (length < 8 || bits !== 8) throw mistake(`the JPEG image has ${bits} bits a sample; expected 8`);
      const samples = content[at + 9];
      if (samples !== 1 && samples !== 3) {
        throw mistake("the JPEG image is neither grey nor RGB; expected 1 or 3 colours a pixel");
      }
      size = { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    } else if (marker === SCAN) break;
    at += 2 + length;
  }
  const [secondLast, last] = content.subarray(-2);
  if (!size || secondLast !== 0xff || last !== END) throw broken("JPEG");
  return size;
}
