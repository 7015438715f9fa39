import type { Looks } from "../../../../looks/looks.ts";
import type { Canvas } from "../canvas.ts";
import type { ElementOptions, Role } from "../structure_tree.ts";

/** The canvas and the structure tree on which pieces are drawn. Decoration is not added to the structure tree. */
export interface DrawTarget {
  canvas: Canvas;
  /** The number of the page, and the total number of pages. */
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
  /** True if it must be on the page of the piece after it. */
  keepsWithNext: boolean;
  /** Draws it with its top left corner at this place. */
  draw(target: DrawTarget, x: number, y: number): void;
  /** Drawn above it if it begins a page: the head of its table. */
  repeated?: Piece;
  isPageBreak?: true;
}

/** The looks and font size with which blocks are laid out. */
export interface LayoutStyle {
  looks: Looks;
  fontSize: number;
}

/** The target of content that belongs to the structure tree. */
export const taggedTarget = (canvas: Canvas, numbers: Pick<DrawTarget, "page" | "pages">): DrawTarget => ({
  canvas,
  ...numbers,
  open: (role, options) => canvas.open(role, options),
  close: () => canvas.close(),
  content: (draw) => canvas.content(draw),
  element: (role, draw, options) => canvas.element(role, draw, options),
  decoration: (draw) => canvas.decoration(draw),
});

/** The target within a decoration: it adds nothing to the structure tree. */
export const decorationTarget = (
  canvas: Canvas,
  numbers: Pick<DrawTarget, "page" | "pages">,
): DrawTarget => ({
  canvas,
  ...numbers,
  open: () => {},
  close: () => {},
  content: (draw) => draw(),
  element: (_role, draw) => draw(),
  decoration: (draw) => draw(),
});
