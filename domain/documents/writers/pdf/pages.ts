import type { Canvas, TextStyle } from "./canvas.ts";
import { breakLines } from "./text_runs.ts";

/** Distances of baselines, relative to the font size. */
export const LINE = 1.32;
export const ASCENT = 1.05;

/** The place of the content on every page, in points from the top left corner. */
export interface PageFrame {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** The pages of a document, and how far the current one is filled. */
export class Pages {
  /** The top of the next content, in points from the top of the page. */
  y = 0;
  /** Number of the current page. */
  number = 0;

  /** @param decorate draws what every page has: its foot */
  constructor(
    readonly canvas: Canvas,
    readonly frame: PageFrame,
    private readonly decorate: (pages: Pages) => void,
  ) {}

  get width(): number {
    return this.frame.right - this.frame.left;
  }

  newPage(): void {
    this.canvas.addPage();
    this.number++;
    this.canvas.decoration(() => this.decorate(this));
    this.y = this.frame.top;
  }

  /** True if the page has room for content of this height. */
  hasRoom(height: number): boolean {
    return this.y + height <= this.frame.bottom;
  }

  /** Begins a page if the current one has no room. An empty page is used in any case. */
  need(height: number): void {
    if (!this.hasRoom(height) && this.y > this.frame.top) this.newPage();
  }

  /** Draws a text, broken into lines, and moves below it. */
  text(text: string, style: TextStyle, o: { maxLines?: number; width?: number } = {}): void {
    for (const line of breakLines(text, (o.width ?? this.width) / style.size, o.maxLines ?? 6, style.font)) {
      this.canvas.text(line, this.frame.left, this.y + style.size * ASCENT, style);
      this.y += style.size * LINE;
    }
  }
}
