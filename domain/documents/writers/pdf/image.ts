import { Buffer } from "node:buffer";
import { PNG } from "pngjs";
import type { PdfFile } from "./pdf_file.ts";

export interface ImageSource {
  contentType: "image/png" | "image/jpeg";
  content: Uint8Array;
  /** Size in pixels. */
  width: number;
  height: number;
}

/** An image of one PDF; pages draw it by its name. */
export interface EmbeddedImage {
  name: string;
  id: number;
  width: number;
  height: number;
}

/** Writes an image to the file. @throws Error if the image is damaged */
export function embedImage(file: PdfFile, name: string, image: ImageSource): EmbeddedImage {
  const { contentType, width, height } = image;
  const id = contentType === "image/png" ? embedPng(file, image) : embedJpeg(file, image);
  return { name, id, width, height };
}

const entriesOf = (width: number, height: number, space: string): string =>
  `/Type/XObject/Subtype/Image/Width ${width}/Height ${height}/ColorSpace/${space}/BitsPerComponent 8`;

/** A JPEG is embedded as it is. */
function embedJpeg(file: PdfFile, { content, width, height }: ImageSource): number {
  const components = jpegComponents(content);
  const space = components === 1 ? "DeviceGray" : components === 3 ? "DeviceRGB" : "DeviceCMYK";
  // Programs write CMYK images inverted.
  const decode = components === 4 ? "/Decode[1 0 1 0 1 0 1 0]" : "";
  return file.writeStream(content, entriesOf(width, height, space) + decode, { filter: "DCTDecode" });
}

/** The number of colour components, from the frame header. */
function jpegComponents(content: Uint8Array): number {
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  for (let at = 2; at + 9 < content.length; at += 2 + view.getUint16(at + 2)) {
    while (content[at + 1] === 0xff) at++; // fill bytes
    const marker = content[at + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return content[at + 9] ?? 3;
  }
  throw new Error("the JPEG image has no frame header");
}

/** A PNG is decoded: PDF keeps colours and transparency apart. */
function embedPng(file: PdfFile, { content, width, height }: ImageSource): number {
  const { data } = PNG.sync.read(Buffer.from(content));
  const pixels = width * height;
  const colours = new Uint8Array(pixels * 3);
  const alpha = new Uint8Array(pixels);
  for (let pixel = 0; pixel < pixels; pixel++) {
    colours.set(data.subarray(pixel * 4, pixel * 4 + 3), pixel * 3);
    alpha[pixel] = data[pixel * 4 + 3] ?? 255;
  }
  const isOpaque = alpha.every((value) => value === 255);
  const mask = isOpaque
    ? ""
    : `/SMask ${file.writeStream(alpha, entriesOf(width, height, "DeviceGray"))} 0 R`;
  return file.writeStream(colours, entriesOf(width, height, "DeviceRGB") + mask);
}
