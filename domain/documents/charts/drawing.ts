import { cutText, graphemesOf } from "../../shared/cut_text.ts";

/** A place from the left and the top of a drawing. */
export type Point = readonly [x: number, y: number];

/**
 * A colour by its role, so that one drawing serves light and dark pages: text, weaker text, grid lines, the page, or the
 * number of a series or slice.
 */
export type Paint = "ink" | "soft" | "grid" | "paper" | number;

/** A step of an outline: move, line, cubic curve with its two control points, or close. */
export type PathStep =
  | { to: "move" | "line"; at: Point }
  | { to: "curve"; first: Point; second: Point; at: Point }
  | { to: "close" };

export type Shape =
  | { kind: "rect"; x: number; y: number; width: number; height: number; fill: Paint }
  | { kind: "line"; points: Point[]; stroke: Paint; width: number }
  | { kind: "dot"; at: Point; radius: number; fill: Paint }
  /** An outlined area. The outline separates it from its neighbours. */
  | { kind: "area"; path: PathStep[]; fill: Paint; stroke: Paint; width: number }
  /** One line of text; `at` is on its baseline. */
  | { kind: "text"; at: Point; text: string; size: number; anchor: "start" | "middle" | "end"; fill: Paint };

/** A line of text; without `o` it begins at `at`, in the colour of text. */
export const textShape = (
  text: string,
  at: Point,
  size: number,
  o: Partial<Pick<Extract<Shape, { kind: "text" }>, "anchor" | "fill">> = {},
): Shape => ({ kind: "text", at, text, size, anchor: "start", fill: "ink", ...o });

/** Shapes in drawing order. */
export interface Drawing {
  width: number;
  height: number;
  shapes: Shape[];
}

/** The space for a drawing, and the font of its texts. */
export interface Frame {
  width: number;
  /** Absent: as high as its content needs. */
  maxHeight?: number;
  fontSize: number;
  /** Width of a text at font size 1. */
  widthOf(text: string): number;
}

/** A text of at most `width`; a longer one ends with an ellipsis. */
export function fitText(text: string, width: number, { fontSize, widthOf }: Frame): string {
  const single = text.replaceAll(/\s+/g, " ").trim();
  if (widthOf(single) * fontSize <= width) return single;
  const characters = Array.from(graphemesOf(cutText(single, 400)), ({ segment }) => segment);
  let low = 0;
  let high = characters.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const fits = widthOf(characters.slice(0, middle).join("") + "…") * fontSize <= width;
    if (fits) low = middle;
    else high = middle - 1;
  }
  return characters.slice(0, low).join("").trimEnd() + "…";
}

const WIDE = /[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\ufe30-\uff60]|\p{Extended_Pictographic}/u;

/** Width of a text at font size 1 in an unknown sans-serif font: rather too wide than too small. */
export function approximateWidth(text: string): number {
  let width = 0;
  for (const character of text) {
    if (/[ijl.,:;|'! ]/.test(character)) width += 0.32;
    else if (/[mwMW%@]/.test(character)) width += 0.95;
    else if (WIDE.test(character)) width += 1.05;
    else width += /[A-Z]/.test(character) ? 0.7 : 0.59;
  }
  return width;
}
