import type { Looks } from "../../../../looks/looks.ts";
import { blocksOf, type PageBlocks } from "../../../markup/blocks.ts";
import { MarkupInvalid, parseMarkup } from "../../../markup/markup.ts";
import { TemplateFault } from "../../../template_fault.ts";
import { Canvas } from "../canvas.ts";
import { piecesOf } from "./block_pieces.ts";
import { decorationTarget, type Piece, taggedTarget } from "./piece.ts";
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

  const author = requestedBy ?? looks.productName;
  const canvas = new Canvas({ width, height, title, author, createdAt: generatedAt, language });
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

/** A piece with its distance from the top of its page, in points. */
interface PlacedPiece {
  piece: Piece;
  y: number;
  /** True for the head of a table that an earlier page shows too. */
  isRepeated: boolean;
}

/** The page is too small for its header and footer, or for one row of a table; or there are more than MAX_PAGES. */
class LayoutRefused extends Error {
  override readonly name = "LayoutRefused";
}

const MIN_HEIGHT = 60;
/** Maximum pages of a document. Pages stay in memory until all are drawn, and a few bytes of data can make a page. */
const MAX_PAGES = 2_000;

/**
 * Divides pieces into pages. A piece that keeps with the next one is on its page if one page can hold both.
 * @param o.top the top of the content of a page, by the number of the page, in points; `bottom` is its end
 * @throws LayoutRefused
 */
function divide(
  pieces: Piece[],
  { top, bottom }: { top(page: number): number; bottom: number },
): PlacedPiece[][] {
  if (bottom - top(1) < MIN_HEIGHT) {
    throw new LayoutRefused("header and footer leave less than 21 mm of the page for its content");
  }
  let page: PlacedPiece[] = [];
  const pages = [page];
  let y = top(1);
  const newPage = () => {
    if (pages.length === MAX_PAGES) throw new LayoutRefused(`a document has at most ${MAX_PAGES} pages`);
    page = [];
    pages.push(page);
    y = top(pages.length);
  };
  const place = (piece: Piece) => {
    if (page.length > 0) y += piece.above;
    page.push({ piece, y, isRepeated: false });
    y += piece.height;
  };
  for (const chain of chainsOf(pieces)) {
    const [first] = chain;
    if (!first) continue;
    if (first.isPageBreak) {
      newPage();
      continue;
    }
    const height = chain.reduce((sum, { height, above }) => sum + height + above, 0);
    const room = bottom - top(pages.length + 1) - (first.repeated?.height ?? 0);
    if (y + height > bottom && page.length > 0 && height - first.above <= room) beginWith(first);
    for (const piece of chain) {
      if (y + (page.length > 0 ? piece.above : 0) + piece.height > bottom && page.length > 0) {
        beginWith(piece);
      }
      if (y + piece.height > bottom) {
        throw new LayoutRefused("a row of a table or a group of columns is higher than a page");
      }
      place(piece);
    }
  }
  return pages;

  function beginWith(piece: Piece): void {
    newPage();
    if (!piece.repeated) return;
    page.push({ piece: piece.repeated, y, isRepeated: true });
    y += piece.repeated.height;
  }
}

/** The pieces in groups that should stay on one page. */
function* chainsOf(pieces: Piece[]): Generator<Piece[]> {
  let chain: Piece[] = [];
  for (const piece of pieces) {
    chain.push(piece);
    if (piece.keepsWithNext) continue;
    yield chain;
    chain = [];
  }
  if (chain.length > 0) yield chain;
}
