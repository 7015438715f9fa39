import PDFDocument from "pdfkit";
import { type FontName, loadFont } from "../../../../infra/fonts/fonts.ts";

/** PDF structure types of content (ISO 32000, tagged PDF). */
type Role = "H1" | "H2" | "P" | "TH" | "TD";
type Group = "Document" | "Table" | "THead" | "TBody" | "TR";

/** An indirect object of a PDF file; `end` writes it. */
interface PdfObject {
  data: Record<string, unknown>;
  end(content: string): void;
}

/** An element of pdfkit's structure tree. */
interface StructureElement {
  add(child: StructureElement): this;
  end(): void;
}

/** The part of pdfkit's document that is used here; the package has no types. */
interface PdfKitDocument {
  page: { width: number; height: number; xobjects: Record<string, unknown> };
  ref(entries: Record<string, unknown>): PdfObject;
  struct(
    role: Role | Group,
    options?: { scope?: "Column"; actual?: string },
    content?: (() => void) | [],
  ): StructureElement;
  addStructure(element: StructureElement): this;
  markContent(tag: "Artifact"): this;
  endMarkedContent(): this;
  addPage(): this;
  registerFont(name: string, font: unknown): this;
  font(name: string): this;
  fontSize(size: number): this;
  fillColor(color: string): this;
  rect(x: number, y: number, width: number, height: number): this;
  fill(color: string): this;
  text(text: string, x: number, y: number, options: Record<string, unknown>): this;
  widthOfString(text: string): number;
  addContent(operators: string): this;
  on(event: "data", listener: (chunk: Uint8Array<ArrayBuffer>) => void): this;
  on(event: "end" | "error", listener: (error?: unknown) => void): this;
  end(): void;
  /** Contains pdfkit's cache of laid-out words, which otherwise grows with the document. */
  _fontFamilies: Record<string, { layoutCache?: Record<string, unknown> }>;
  /** The current font. */
  _font: { ref(): unknown; encode(text: string): [glyphs: string[], positions: unknown] };
}

export interface CanvasOptions {
  size: "A4" | "A3";
  title: string;
  author: string | null;
  createdAt: Date;
  /** Does the PDF get a structure tree, which screen readers and copying the table need? */
  isTagged: boolean;
}

/** A PDF that is drawn page by page; finished bytes are taken with `take`. */
export class Canvas {
  #document: PdfKitDocument;
  #bytes: Uint8Array<ArrayBuffer>[] = [];
  #ended: Promise<void>;
  #known = new Set<FontName>();
  #later: PdfObject;
  /** The open elements of the structure tree, outermost first. Empty if the PDF is not tagged. */
  #open: StructureElement[] = [];

  constructor({ size, title, author, createdAt, isTagged }: CanvasOptions) {
    const info = {
      Title: title,
      CreationDate: createdAt,
      Producer: "Steward",
      ...(author ? { Author: author } : {}),
    };
    // Without `font`, pdfkit would embed Helvetica.
    this.#document = new PDFDocument({
      size,
      layout: "landscape",
      margin: 0,
      info,
      lang: "en",
      displayTitle: true,
      tagged: isTagged,
      autoFirstPage: false,
      pdfVersion: "1.7",
      font: loadFont("sans"),
    }) as unknown as PdfKitDocument;
    this.#later = this.#document.ref({
      Type: "XObject",
      Subtype: "Form",
      FormType: 1,
      BBox: [0, -10, 100, 20],
    });
    this.#ended = new Promise((resolve, reject) => {
      this.#document.on("end", () => resolve());
      this.#document.on("error", reject);
    });
    this.#document.on("data", (chunk) => this.#bytes.push(chunk));
    if (!isTagged) return;
    const root = this.#document.struct("Document");
    this.#document.addStructure(root);
    this.#open.push(root);
  }

  get width(): number {
    return this.#document.page.width;
  }

  get height(): number {
    return this.#document.page.height;
  }

  addPage(): void {
    this.#document.addPage();
  }

  /** Draws content that screen readers skip: boxes, page numbers, a repeated table head. */
  decoration(draw: () => void): void {
    this.#document.markContent("Artifact");
    draw();
    this.#document.endMarkedContent();
  }

  /** Draws content with a place in the structure tree. @param read text for screen readers instead of the drawn text */
  taggedContent(role: Role, draw: () => void, read: string | null = null): void {
    const group = this.#open.at(-1);
    if (!group) return draw();
    const actual = read === null ? {} : { actual: read };
    const scope = role === "TH" ? { scope: "Column" as const } : {};
    group.add(this.#document.struct(role, { ...actual, ...scope }, draw));
  }

  /** Opens a group in the structure tree; content is added to it until `closeGroup`. */
  openGroup(role: Group): void {
    const parent = this.#open.at(-1);
    if (!parent) return;
    const group = this.#document.struct(role);
    parent.add(group);
    this.#open.push(group);
  }

  closeGroup(): void {
    this.#open.pop()?.end();
  }

  /** Adds an empty cell to the structure tree, for which nothing is drawn. */
  emptyCell(): void {
    this.#open.at(-1)?.add(this.#document.struct("TD", {}, []));
  }

  /** Fills a rectangle; y counts from the top. */
  box(x: number, y: number, width: number, height: number, color: string): void {
    this.#document.rect(x, y, width, height).fill(color);
  }

  /** Draws text in one font. @returns its width */
  draw(text: string, x: number, y: number, o: { font: FontName; size: number; color: string }): number {
    this.#select(o.font, o.size);
    const textWidth = this.#document.widthOfString(text);
    this.#document.fillColor(o.color).text(text, x, y, {
      lineBreak: false,
      textWidth,
      wordCount: 1,
      baseline: "alphabetic",
    });
    return textWidth;
  }

  /** Draws a placeholder on the current page for a text that is known only at the end. All pages share one text. */
  drawPlaceholder(x: number, y: number): void {
    this.#document.page.xobjects.Later = this.#later;
    // The page's y axis points down, the y axis of the text up.
    this.#document.addContent(`q 1 0 0 -1 ${x.toFixed(2)} ${y.toFixed(2)} cm /Later Do Q`);
  }

  /** Sets the text of all placeholders. Call it once, with text of the main font. */
  fillPlaceholder(text: string, o: { font: FontName; size: number; color: string }): void {
    this.#select(o.font, o.size);
    const font = this.#document._font;
    const [glyphs] = font.encode(text);
    const color = [1, 3, 5].map((at) => (parseInt(o.color.slice(at, at + 2), 16) / 255).toFixed(3));
    this.#later.data.Resources = { Font: { F: font.ref() } };
    this.#later.end(`BT ${color.join(" ")} rg /F ${o.size} Tf <${glyphs.join("")}> Tj ET`);
  }

  /** Removes and returns the finished bytes. */
  take(): Uint8Array<ArrayBuffer>[] {
    return this.#bytes.splice(0);
  }

  /** Clears pdfkit's cache of laid-out words, so that memory use does not grow with the document. */
  clearWordCache(): void {
    for (const font of Object.values(this.#document._fontFamilies)) {
      if (font.layoutCache) font.layoutCache = Object.create(null);
    }
  }

  /** Ends the document. When this resolves, `take` returns the last bytes. */
  async end(): Promise<void> {
    this.#document.end(); // ends the root element too
    await this.#ended;
  }

  /**
   * Selects a font. It is registered under its PostScript name; under other names pdfkit reloads it at every change.
   */
  #select(font: FontName, size: number): void {
    const loaded = loadFont(font);
    if (!this.#known.has(font)) {
      this.#document.registerFont(loaded.postscriptName, loaded);
      this.#known.add(font);
    }
    this.#document.font(loaded.postscriptName).fontSize(size);
  }
}
