import type { Looks } from "../../../../looks/looks.ts";
import { blocksOf, type PageBlocks } from "../../../markup/blocks.ts";
import { MarkupInvalid, parseMarkup } from "../../../markup/markup.ts";
import { TemplateFault } from "../../../template_fault.ts";
import { Canvas } from "../canvas.ts";
import { piecesOf } from "./block_pieces.ts";
import { divide, LayoutRefused } from "./divide.ts";
import { decorationTarget, taggedTarget } from "./piece.ts";
import { stacked } from "./table_pieces.ts";

/** The input of a document of blocks, such as an invoice. Plain values only, because it is sent to another thread. */
export interface BlockInput {
  /** The rendered body. */
  markup: string;
  title: string;
  language: string;
  requestedBy: string | null;
  generatedAt: Date;
  looks: Looks;
}

/** Draws a document. @throws TemplateFault for a mistake that shows only in the rendered body */
export function makeBlocks(input: BlockInput): Uint8Array<ArrayBuffer>[] {
  try {
    return draw(blocksOf(parseMarkup(input.markup)), input);
  } catch (error) {
    if (error instanceof MarkupInvalid) throw new TemplateFault(`the rendered body, ${error.message}`);
    throw error instanceof LayoutRefused ? new TemplateFault(error.message) : error;
  }
}

/** Distance between the body and the header or footer. */
const GAP = 14;

/**
 * All of a document is laid out before its first page is drawn, so that every page can show how many there are.
 * @throws LayoutRefused
 */
function draw(
  page: PageBlocks,
  { looks, title, requestedBy, language, generatedAt }: BlockInput,
): Uint8Array<ArrayBuffer>[] {
  const { width, height, margin } = page;
  const style = { looks, fontSize: page.fontSize };
  const inner = width - 2 * margin;
  const header = stacked(piecesOf(page.header, inner, style));
  const footer = stacked(piecesOf(page.footer, inner, style));
  const headerHeight = page.header.length > 0 ? header.height + GAP : 0;
  const footerHeight = page.footer.length > 0 ? footer.height + GAP : 0;
  const top = (number: number) => number > 1 && page.isHeaderFirst ? margin : margin + headerHeight;
  const bottom = height - margin - footerHeight;
  const pages = divide(piecesOf(page.body, inner, style), { top, bottom });

  const canvas = new Canvas({ width, height, title, author: requestedBy, createdAt: generatedAt, language });
  for (const [i, placed] of pages.entries()) {
    const numbers = { page: i + 1, pages: pages.length };
    canvas.addPage();
    if (page.header.length > 0 && i === 0) header.draw(taggedTarget(canvas, numbers), margin, margin);
    else if (page.header.length > 0 && !page.isHeaderFirst) {
      canvas.decoration(() => header.draw(decorationTarget(canvas, numbers), margin, margin));
    }
    const target = taggedTarget(canvas, numbers);
    for (const { piece, y, isRepeated } of placed) {
      if (isRepeated) canvas.decoration(() => piece.draw(decorationTarget(canvas, numbers), margin, y));
      else piece.draw(target, margin, y);
    }
    const footerTop = height - margin - footer.height;
    canvas.decoration(() => footer.draw(decorationTarget(canvas, numbers), margin, footerTop));
  }
  canvas.end();
  return canvas.take();
}
