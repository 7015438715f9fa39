import type { MarkupElement } from "./markup.ts";

export type Align = "left" | "center" | "right";

/** A piece of a line of text in one style. `page` and `pages` are the page's number and the number of pages. */
export interface Span {
  text: string;
  isBold: boolean;
  isItalic: boolean;
  variable: "page" | "pages" | null;
}

export interface TextBlock {
  kind: "text";
  role: "h1" | "h2" | "h3" | "p" | "address";
  align: Align | null;
  size: "small" | "large" | null;
  spans: Span[];
}

export interface TableCell {
  isHead: boolean;
  align: Align | null;
  /** Number of columns that it spans. */
  columns: number;
  spans: Span[];
}

export interface TableBlock {
  kind: "table";
  lines: "none" | "rows" | "stripes";
  /** Width of each column in per cent; null: by its content. */
  widths: (number | null)[];
  head: TableCell[][];
  body: TableCell[][];
  foot: TableCell[][];
}

export type Block =
  | TextBlock
  | TableBlock
  | { kind: "columns"; columns: { width: number | null; blocks: Block[] }[] }
  | { kind: "logo"; align: Align; height: number | null }
  | { kind: "qr"; value: string; size: number; align: Align; description: string }
  | { kind: "rule" }
  | { kind: "space"; height: number }
  | { kind: "pagebreak" };

export interface PageBlocks {
  /** Width and height in points. */
  width: number;
  height: number;
  margin: number;
  fontSize: number;
  header: Block[];
  /** True if the header stands on the first page only. */
  isHeaderFirst: boolean;
  footer: Block[];
  body: Block[];
}

const MILLIMETRE = 72 / 25.4;
/** Width and height of upright pages in points. */
const SIZES: Record<string, [number, number]> = {
  A4: [595.28, 841.89],
  A5: [419.53, 595.28],
  Letter: [612, 792],
};
const DEFAULTS = { margin: 20, qr: 28, space: 5, fontSize: 10 };

/** Turns checked markup into blocks. */
export function blocksOf(page: MarkupElement): PageBlocks {
  const { size = "A4", layout, margin, fontsize } = page.attributes;
  const [short, long] = SIZES[size] ?? [595.28, 841.89];
  const [width, height] = layout === "landscape" ? [long, short] : [short, long];
  const partOf = (name: "header" | "footer") => elementsOf(page).filter((element) => element.name === name);
  return {
    width,
    height,
    margin: Number(margin ?? DEFAULTS.margin) * MILLIMETRE,
    fontSize: Number(fontsize ?? DEFAULTS.fontSize),
    header: partOf("header").flatMap(childBlocks),
    isHeaderFirst: partOf("header").some(({ attributes }) => attributes.first !== undefined),
    footer: partOf("footer").flatMap(childBlocks),
    body: childBlocks(page),
  };
}

const elementsOf = ({ children }: MarkupElement): MarkupElement[] =>
  children.filter((child) => typeof child !== "string");

const childBlocks = (parent: MarkupElement): Block[] => elementsOf(parent).flatMap(blockOf);

function blockOf(element: MarkupElement): Block[] {
  const { name, attributes } = element;
  const align = attributes.align as Align | undefined;
  switch (name) {
    case "h1":
    case "h2":
    case "h3":
    case "p":
    case "address": {
      const size = (attributes.size ?? null) as TextBlock["size"];
      return [{ kind: "text", role: name, align: align ?? null, size, spans: spansOf(element) }];
    }
    case "table":
      return [tableOf(element)];
    case "columns":
      return [{
        kind: "columns",
        columns: elementsOf(element).map((column) => ({
          width: column.attributes.width === undefined ? null : parseFloat(column.attributes.width),
          blocks: childBlocks(column),
        })),
      }];
    case "logo": {
      const height = attributes.height === undefined ? null : Number(attributes.height) * MILLIMETRE;
      return [{ kind: "logo", align: align ?? "left", height }];
    }
    case "qr": {
      const { value = "", size = DEFAULTS.qr, description = value } = attributes;
      return [{ kind: "qr", value, size: Number(size) * MILLIMETRE, align: align ?? "left", description }];
    }
    case "hr":
      return [{ kind: "rule" }];
    case "space":
      return [{ kind: "space", height: Number(attributes.height ?? DEFAULTS.space) * MILLIMETRE }];
    case "pagebreak":
      return [{ kind: "pagebreak" }];
    default:
      return []; // header and footer
  }
}

function tableOf(table: MarkupElement): TableBlock {
  const rowsOf = (part: string) =>
    elementsOf(table).filter(({ name }) => name === part).flatMap(elementsOf).map((row) =>
      elementsOf(row).map((cell): TableCell => ({
        isHead: cell.name === "th",
        align: (cell.attributes.align ?? null) as Align | null,
        columns: Number(cell.attributes.colspan ?? 1),
        spans: spansOf(cell),
      }))
    );
  const parts = { head: rowsOf("thead"), body: rowsOf("tbody"), foot: rowsOf("tfoot") };
  const rows = [...parts.head, ...parts.body, ...parts.foot];
  const count = Math.max(0, ...rows.map((row) => row.reduce((sum, { columns }) => sum + columns, 0)));
  const widths: (number | null)[] = Array.from({ length: count }, () => null);
  for (const row of elementsOf(table).flatMap(elementsOf)) {
    let at = 0;
    for (const { attributes } of elementsOf(row)) {
      const span = Number(attributes.colspan ?? 1);
      if (attributes.width !== undefined && span === 1) widths[at] ??= parseFloat(attributes.width);
      at += span;
    }
  }
  return {
    kind: "table",
    lines: (table.attributes.lines ?? "rows") as TableBlock["lines"],
    widths,
    ...parts,
  };
}

/** The text of an element in runs of one style. As in HTML, white space is one space. */
function spansOf(element: MarkupElement): Span[] {
  const spans: Span[] = [];
  const visit = (parent: MarkupElement, style: Pick<Span, "isBold" | "isItalic">) => {
    for (const child of parent.children) {
      if (typeof child === "string") {
        spans.push({ text: child.replaceAll(/\s+/g, " "), variable: null, ...style });
      } else if (child.name === "br") spans.push({ text: "\n", variable: null, ...style });
      else if (child.name === "pagenumber") spans.push({ text: "0", variable: "page", ...style });
      else if (child.name === "pagecount") spans.push({ text: "00", variable: "pages", ...style });
      else {
        visit(child, {
          isBold: style.isBold || child.name === "b" || child.name === "strong",
          isItalic: style.isItalic || child.name === "i" || child.name === "em",
        });
      }
    }
  };
  visit(element, { isBold: false, isItalic: false });
  return spans;
}
