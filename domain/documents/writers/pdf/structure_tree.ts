import { type PdfFile, pdfText } from "./pdf_file.ts";

/** PDF structure types of content and of groups (ISO 32000-1, 14.8.4). */
export type Role =
  | "Document"
  | "Part"
  | "Sect"
  | "H1"
  | "H2"
  | "H3"
  | "P"
  | "Figure"
  | "Table"
  | "THead"
  | "TBody"
  | "TFoot"
  | "TR"
  | "TH"
  | "TD";

export interface ElementOptions {
  /** Text for screen readers instead of the drawn text. */
  actual?: string | null;
  /** Description of a figure. */
  alt?: string;
  /** The cells that a header cell describes: those of its column or its row. */
  scope?: "Column" | "Row";
  /** Number of columns that a cell spans. */
  columns?: number;
  /** The place of a figure on its page: left, bottom, right and top from the bottom left corner. */
  box?: [number, number, number, number];
  /** Language of the content, if it is not the document's. */
  lang?: string;
}

interface OpenElement {
  id: number;
  role: Role;
  entries: string;
  /** The page of the first content; 0: none yet. */
  page: number;
  /** Its children in PDF syntax. */
  kids: string;
}

/** Number of pages that share one node of the tree that finds elements by page. */
const PAGES_PER_NODE = 64;

/**
 * The structure tree of a PDF, which screen readers and copying a table need. Elements are written when they are closed
 * and leave memory then. An element that stays open for long, such as a table, must therefore have few children: the
 * rows of a long table are grouped by page.
 */
export class StructureTree {
  readonly root: number;
  /** The open elements, outermost first. */
  #open: OpenElement[] = [];
  /** The elements of the page's marked contents, by their number on the page. */
  #parents = "";
  /** Number of marked contents on the page. */
  #contents = 0;
  #pages = 0;
  #nodeEntries = "";
  #nodes = "";

  constructor(private readonly file: PdfFile) {
    this.root = file.reserve();
    this.open("Document");
  }

  /** Key of the current page in the tree that finds elements by page. */
  get pageKey(): number {
    return this.#pages;
  }

  /** Role of the innermost open element. */
  get role(): Role {
    return this.#open.at(-1)?.role ?? "Document";
  }

  /** Opens an element; following elements and contents are its children until `close`. */
  open(role: Role, options: ElementOptions = {}): void {
    const parent = this.#open.at(-1);
    const id = this.file.reserve();
    if (parent) parent.kids += `${id} 0 R `;
    const entries = `/S/${role}/P ${parent?.id ?? this.root} 0 R${entriesOf(options)}`;
    this.#open.push({ id, role, entries, page: 0, kids: "" });
  }

  close(): void {
    const element = this.#open.pop();
    if (!element) return;
    const page = element.page > 0 ? `/Pg ${element.page} 0 R` : "";
    this.file.write(`<<${element.entries}${page}/K[${element.kids}]>>`, element.id);
  }

  /** Adds content on a page to the innermost open element. @returns the number of the content on its page */
  addContent(page: number): number {
    const element = this.#open.at(-1);
    if (!element) throw new Error("content was added outside of the structure tree");
    const content = this.#contents++;
    this.#parents += `${element.id} 0 R `;
    if (element.page === 0) element.page = page;
    element.kids += element.page === page ? `${content} ` : `<</Type/MCR/Pg ${page} 0 R/MCID ${content}>>`;
    return content;
  }

  /** Adds an element with one content on a page. @returns the number of the content on its page */
  addElement(role: Role, page: number, actual: string | null): number {
    const parent = this.#open.at(-1);
    if (!parent) throw new Error("an element was added outside of the structure tree");
    const content = this.#contents++;
    const text = actual === null ? "" : `/ActualText${pdfText(actual)}`;
    const id = this.file.write(`<</S/${role}/P ${parent.id} 0 R/Pg ${page} 0 R${text}/K ${content}>>`);
    parent.kids += `${id} 0 R `;
    this.#parents += `${id} 0 R `;
    return content;
  }

  /** Ends the contents of a page. */
  endPage(): void {
    const parents = this.file.write(`[${this.#parents}]`);
    this.#nodeEntries += `${this.#pages} ${parents} 0 R `;
    this.#pages++;
    this.#parents = "";
    this.#contents = 0;
    if (this.#pages % PAGES_PER_NODE === 0) this.#endNode();
  }

  end(): void {
    const document = this.#open[0];
    while (this.#open.length > 0) this.close();
    if (this.#nodeEntries !== "") this.#endNode();
    const parents = this.file.write(`<</Kids[${this.#nodes}]>>`);
    this.file.write(
      `<</Type/StructTreeRoot/K ${
        document?.id ?? 0
      } 0 R/ParentTree ${parents} 0 R/ParentTreeNextKey ${this.#pages}>>`,
      this.root,
    );
  }

  #endNode(): void {
    const first = Math.floor((this.#pages - 1) / PAGES_PER_NODE) * PAGES_PER_NODE;
    const limits = `${first} ${this.#pages - 1}`;
    const node = this.file.write(`<</Limits[${limits}]/Nums[${this.#nodeEntries}]>>`);
    this.#nodes += `${node} 0 R `;
    this.#nodeEntries = "";
  }
}

function entriesOf({ actual, alt, scope, columns, lang, box }: ElementOptions): string {
  let entries = "";
  if (actual !== undefined && actual !== null) entries += `/ActualText${pdfText(actual)}`;
  if (alt !== undefined) entries += `/Alt${pdfText(alt)}`;
  if (lang !== undefined) entries += `/Lang${pdfText(lang)}`;
  if (box) entries += `/A<</O/Layout/Placement/Block/BBox[${box.map((at) => at.toFixed(2)).join(" ")}]>>`;
  if (scope === undefined && columns === undefined) return entries;
  const scopeEntry = scope === undefined ? "" : `/Scope/${scope}`;
  const spanEntry = columns === undefined ? "" : `/ColSpan ${columns}`;
  return `${entries}/A<</O/Table${scopeEntry}${spanEntry}>>`;
}
