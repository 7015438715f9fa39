import type { Piece } from "./piece.ts";

/** A piece with its distance from the top of its page, in points. */
export interface PlacedPiece {
  piece: Piece;
  y: number;
  /** True for the head of a table that an earlier page shows too. */
  isRepeated: boolean;
}

/** The page is too small for its header and footer, or for one row of a table; or there are more than MAX_PAGES. */
export class LayoutRefused extends Error {
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
export function divide(
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
