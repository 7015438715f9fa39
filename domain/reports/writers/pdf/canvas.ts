import PDFDocument from "pdfkit";
import { type FontName, loadFont } from "../../../../infra/fonts/fonts.ts";

/** The part of pdfkit's document that is used here; the package brings no types. */
interface PdfKitDocument {
  page: { width: number; height: number };
  addPage(): this;
  registerFont(name: string, font: unknown): this;
  font(name: string): this;
  fontSize(size: number): this;
  fillColor(color: string): this;
  rect(x: number, y: number, width: number, height: number): this;
  fill(color: string): this;
  text(text: string, x: number, y: number, options: Record<string, unknown>): this;
  widthOfString(text: string): number;
  on(event: "data", heard: (chunk: Uint8Array<ArrayBuffer>) => void): this;
  on(event: "end" | "error", heard: (error?: unknown) => void): this;
  end(): void;
  /** Laid-out words, kept by pdfkit for as long as the document. */
  _fontFamilies: Record<string, { layoutCache?: Record<string, unknown> }>;
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
      font: loadFont("sans"),
    }) as unknown as PdfKitDocument;
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
    this.#document.end();
    await this.#ended;
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
