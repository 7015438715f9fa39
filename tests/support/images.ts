import { pngOf } from "./samples.ts";

/** A PNG image of one colour. @param o.interlaced marks it as interlaced */
export function pngImage(
  width: number,
  height: number,
  o: { interlaced?: boolean } = {},
): Uint8Array<ArrayBuffer> {
  const row = new Uint8Array(1 + width * 3).fill(0x60);
  row[0] = 0;
  const rows = new Uint8Array(row.length * height);
  for (let y = 0; y < height; y++) rows.set(row, y * row.length);
  return pngOf({ width, height, colour: 2, isInterlaced: o.interlaced ?? false }, rows);
}

/** A grey JPEG image of 8 x 8 pixels. */
export const jpegImage = (): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(
    atob(
      "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgyPC4zNDL/" +
        "wAALCAAIAAgBAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKB" +
        "kaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWm" +
        "p6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/9oACAEBAAA/APn+v//Z",
    ),
    (character) => character.charCodeAt(0),
  );
