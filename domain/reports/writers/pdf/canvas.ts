import PDFDocument from "pdfkit";
import { type FontName, loadFont } from "../../../../infra/fonts/fonts.ts";
import { type PdfObject, type Role, Structure, type StructuredDocument } from "./structure.ts";

/** The part of pdfkit's document that is used here; the package brings no types. */
interface PdfKitDocument extends StructuredDocument {
  page: { width: number; height: number; xobjects: Record<string, unknown>; dictionary: PdfObject };
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
  on(event: "data", heard: (chunk: Uint8Array<ArrayBuffer>) => void): this;
  on(event: "end" | "error", heard: (error?: unknown) => void): this;
  end(): void;
  /** Laid-out words, kept by pdfkit for as long as the document. */
  _fontFamilies: Record<string, { layoutCache?: Record<string, unknown> }>;
  /** The font of the text that is drawn now. */
  _font: { ref(): unknown; encode(text: string): [glyphs: string[], positions: unknown] };
}

export interface CanvasOptions {
  size: "A4" | "A3";
  title: string;
  author: string | null;
  createdAt: Date;
}

/** A PDF under way: pages drawn one after the other, bytes taken off as they come. */
export class Canvas {
  #document: PdfKitDocument;
  #bytes: Uint8Array<ArrayBuffer>[] = [];
  #ended: Promise<void>;
  #known = new Set<FontName>();
  #later: PdfObject;
  #structure = new Structure();

  constructor({ size, title, author, createdAt }: CanvasOptions) {
    const info = {
      Title: title,
      CreationDate: createdAt,
      Producer: "Steward",
      ...(author ? { Author: author } : {}),
    };
    // pdfkit starts with Helvetica unless it is given another font of its own; none but ours is ever embedded.
    this.#document = new PDFDocument({
      ...{ size, layout: "landscape", margin: 0, info, lang: "en", displayTitle: true, autoFirstPage: false },
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
  }

  get width(): number {
    return this.#document.page.width;
  }

  get height(): number {
    return this.#document.page.height;
  }

  addPage(): void {
    this.#document.addPage();
    this.#structure.beginPage(this.#document.page.dictionary);
  }

  /** What is drawn belongs to no text: boxes, page numbers, a table head that was read before. */
  decoration(draw: () => void): void {
    this.#marked("/Artifact BMC", draw);
  }

  /** What is drawn is one piece of the text. @param read what is read instead, where the drawn lines do not say it. */
  piece(role: Role, draw: () => void, read: string | null = null): void {
    const mark = this.#structure.draws(role, read);
    if (mark === null) draw();
    else this.#marked(`/${role} <</MCID ${mark}>> BDC`, draw);
  }

  /** The table and its parts, which pieces belong to; see `Structure`. */
  get table(): Pick<Structure, "open" | "close" | "empty"> {
    return this.#structure;
  }

  /** Fills a rectangle; y counts from the top. */
  box(x: number, y: number, width: number, height: number, color: string): void {
    this.#document.rect(x, y, width, height).fill(color);
  }

  /** Draws text of one font and returns how wide it is. */
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

  /** Leaves room at a place of this page for a text that only the end of the document knows; the same on all pages. */
  drawLater(x: number, y: number): void {
    this.#document.page.xobjects.Later = this.#later;
    // Pages count from the top, texts from the bottom.
    this.#document.addContent(`q 1 0 0 -1 ${x.toFixed(2)} ${y.toFixed(2)} cm /Later Do Q`);
  }

  /** Says what stands at those places: plain text, once. */
  fillLater(text: string, o: { font: FontName; size: number; color: string }): void {
    this.#select(o.font, o.size);
    const font = this.#document._font;
    const [glyphs] = font.encode(text);
    const color = [1, 3, 5].map((at) => (parseInt(o.color.slice(at, at + 2), 16) / 255).toFixed(3));
    this.#later.data.Resources = { Font: { F: font.ref() } };
    this.#later.end(`BT ${color.join(" ")} rg /F ${o.size} Tf <${glyphs.join("")}> Tj ET`);
  }

  /** The bytes that are ready. */
  take(): Uint8Array<ArrayBuffer>[] {
    return this.#bytes.splice(0);
  }

  /** Forgets laid-out words, so that a long document takes no more memory than a short one. */
  forgetWords(): void {
    for (const font of Object.values(this.#document._fontFamilies)) {
      if (font.layoutCache) font.layoutCache = Object.create(null);
    }
  }

  /** Ends the document; its last bytes are ready when this resolves. */
  async end(): Promise<void> {
    this.#structure.write(this.#document);
    this.#document.end();
    await this.#ended;
  }

  #marked(begin: string, draw: () => void): void {
    this.#document.addContent(begin);
    draw();
    this.#document.addContent("EMC");
  }

  /** Fonts go by their own names: under any other, pdfkit opens the one it began with anew at every change. */
  #select(font: FontName, size: number): void {
    const loaded = loadFont(font);
    if (!this.#known.has(font)) {
      this.#document.registerFont(loaded.postscriptName, loaded);
      this.#known.add(font);
    }
    this.#document.font(loaded.postscriptName).fontSize(size);
  }
}
