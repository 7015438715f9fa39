import type { Looks } from "../../../../looks/looks.ts";
import type { Canvas } from "../canvas.ts";
import type { ElementOptions, Role } from "../structure_tree.ts";

/** What pieces are drawn with: the canvas, and the structure tree unless the piece is decoration. */
export interface Ink {
  canvas: Canvas;
  /** Number of the page, and of pages. */
  page: number;
  pages: number;
  open(role: Role, options?: ElementOptions): void;
  close(): void;
  content(draw: () => void): void;
  element(role: Role, draw: () => void, options?: ElementOptions): void;
  /** Draws what screen readers skip. */
  decoration(draw: () => void): void;
}

/** A part of a document that is not divided between pages. */
export interface Piece {
  height: number;
  /** Space above it, unless it begins a page. */
  above: number;
  /** Must it be on the page of the piece after it? */
  keepsNext: boolean;
  /** Draws it with its top left corner at this place. */
  draw(ink: Ink, x: number, y: number): void;
  /** Drawn above it if it begins a page: the head of its table. */
  repeated?: Piece;
  isPageBreak?: true;
}

/** What blocks are laid out with. */
export interface Setting {
  looks: Looks;
  fontSize: number;
}

/** Ink of content with a place in the structure tree. */
export const taggedInk = (canvas: Canvas, numbers: Pick<Ink, "page" | "pages">): Ink => ({
  canvas,
  ...numbers,
  open: (role, options) => canvas.open(role, options),
  close: () => canvas.close(),
  content: (draw) => canvas.content(draw),
  element: (role, draw, options) => canvas.element(role, draw, options),
  decoration: (draw) => canvas.decoration(draw),
});

/** Ink within a decoration. */
export const plainInk = (canvas: Canvas, numbers: Pick<Ink, "page" | "pages">): Ink => ({
  canvas,
  ...numbers,
  open: () => {},
  close: () => {},
  content: (draw) => draw(),
  element: (_role, draw) => draw(),
  decoration: (draw) => draw(),
});
