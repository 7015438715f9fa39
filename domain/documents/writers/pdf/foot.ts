import type { Wording } from "../../wording.ts";
import { COLORS } from "./layout.ts";
import { breakLines } from "./line_breaks.ts";
import { LINE, type Pages } from "./pages.ts";
import { widthOf } from "./text_runs.ts";

const SIZE = 7;
const MAX_FOOTER_LINES = 3;
const STYLE = { font: "sans", size: SIZE, color: COLORS.soft } as const;

/** The footer of the pages of a report: page number, name of the report, and the tenant's footer text. */
export class PageFooter {
  readonly #lines: string[];

  constructor(
    private readonly name: string,
    footerText: string,
    private readonly width: number,
    private readonly wording: Wording,
  ) {
    const text = footerText.split("\n").map((line) => line.trim()).filter((line) => line !== "").join(" · ");
    this.#lines = text === "" ? [] : breakLines(text, width / SIZE, MAX_FOOTER_LINES);
  }

  get height(): number {
    return (1 + this.#lines.length) * SIZE * LINE;
  }

  draw({ canvas, number, frame }: Pages): void {
    let y = frame.bottom + SIZE * 2.5;
    const page = this.wording.words.page(number);
    canvas.text(page, frame.left, y, STYLE);
    canvas.drawPlaceholder(frame.left + widthOf(page) * SIZE, y);
    const [name = ""] = breakLines(this.name, this.width * 0.7 / SIZE, 1);
    canvas.text(name, frame.right - widthOf(name) * SIZE, y, STYLE);
    for (const line of this.#lines) {
      y += SIZE * LINE;
      canvas.text(line, frame.left, y, STYLE);
    }
  }

  /** Fills in the total number of pages, on all pages. */
  end({ canvas, number }: Pages): void {
    canvas.fillPlaceholder(String(number), STYLE);
  }
}
