import type { Looks } from "../../../../looks/looks.ts";
import type { PageBlocks } from "../../../document_templates/blocks.ts";
import { Canvas } from "../canvas.ts";
import { piecesOf } from "./block_pieces.ts";
import { divide } from "./divide.ts";
import { plainInk, taggedInk } from "./piece.ts";
import { stacked } from "./table_pieces.ts";

/** What a document of blocks is made of. */
export interface BlockDocument {
  page: PageBlocks;
  title: string;
  author: string | null;
  /** Language of its texts. */
  language: string;
  looks: Looks;
  generatedAt: Date;
}

/** Distance between the body and the header or footer. */
const GAP = 14;

/**
 * Draws a document of blocks, such as an invoice. All of it is laid out before the first page is drawn, so that every
 * page can show how many there are.
 * @throws LayoutRefused
 */
export function writeBlocks(document: BlockDocument): Uint8Array<ArrayBuffer>[] {
  const { page, looks, title, author, language, generatedAt } = document;
  const { width, height, margin } = page;
  const setting = { looks, fontSize: page.fontSize };
  const inner = width - 2 * margin;
  const header = stacked(piecesOf(page.header, inner, setting));
  const footer = stacked(piecesOf(page.footer, inner, setting));
  const headerHeight = page.header.length > 0 ? header.height + GAP : 0;
  const footerHeight = page.footer.length > 0 ? footer.height + GAP : 0;
  const top = (number: number) => number > 1 && page.isHeaderFirst ? margin : margin + headerHeight;
  const bottom = height - margin - footerHeight;
  const pages = divide(piecesOf(page.body, inner, setting), { top, bottom });

  const canvas = new Canvas({ width, height, title, author, createdAt: generatedAt, language });
  for (const [i, placed] of pages.entries()) {
    const numbers = { page: i + 1, pages: pages.length };
    canvas.addPage();
    if (page.header.length > 0 && i === 0) header.draw(taggedInk(canvas, numbers), margin, margin);
    else if (page.header.length > 0 && !page.isHeaderFirst) {
      canvas.decoration(() => header.draw(plainInk(canvas, numbers), margin, margin));
    }
    const ink = taggedInk(canvas, numbers);
    for (const { piece, y, isRepeated } of placed) {
      if (isRepeated) canvas.decoration(() => piece.draw(plainInk(canvas, numbers), margin, y));
      else piece.draw(ink, margin, y);
    }
    const footerTop = height - margin - footer.height;
    canvas.decoration(() => footer.draw(plainInk(canvas, numbers), margin, footerTop));
  }
  canvas.end();
  return canvas.take();
}
