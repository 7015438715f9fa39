import { type FontName, isUnshaped } from "../../../../infra/fonts/fonts.ts";
import type { PathStep } from "../../charts/drawing.ts";
import { EmbeddedFont } from "./embedded_font.ts";
import { type EmbeddedImage, embedImage, type ImageSource } from "./image.ts";
import { PageContent, PageTree } from "./page_content.ts";
import { pdfDate, PdfFile, pdfText } from "./pdf_file.ts";
import { type ElementOptions, type Role, StructureTree } from "./structure_tree.ts";
import { isPlain, type Run, runsOf, type Weight } from "./text_runs.ts";

export interface CanvasOptions {
  /** Width and height of the pages in points. */
  width: number;
  height: number;
  title: string;
  author: string;
  createdAt: Date;
  /** Language of the text, such as `en` or `pt-BR`. */
  language: string;
}

/** The slant of italic text: its shift to the right per height. */
const SLANT = 0.2;

/** How a text is drawn. `color` is `#rrggbb`. */
export interface TextStyle {
  isItalic?: boolean;
  /** The font of text in the Latin, Greek and Cyrillic scripts. */
  font: Weight;
  size: number;
  color: string;
}

/**
 * A PDF that is drawn page by page; finished bytes are taken with `take`. All drawn content belongs to the structure
 * tree or is decoration. Points count from the top left corner of a page.
 */
export class Canvas {
  readonly width: number;
  readonly height: number;
  readonly #file = new PdfFile();
  readonly #content = new PageContent();
  readonly #structure = new StructureTree(this.#file);
  readonly #pages: PageTree;
  readonly #fonts = new Map<FontName, EmbeddedFont>();
  readonly #sources = new Map<ImageSource, EmbeddedImage>();
  /** The object that all placeholders draw; null: there is none. */
  #placeholder: number | null = null;
  /** The current page; 0 before the first one. */
  #page = 0;
  #isInText = false;
  /** The state that the last operators set, so that it is not set again. */
  #embedded: EmbeddedFont | null = null;
  #size = 0;
  #color = "";
  /** Start of the last text, in hundredths of points from the bottom left corner. Further texts are placed relative to it. */
  #penX = 0;
  #penY = 0;

  constructor(private readonly options: CanvasOptions) {
    this.width = options.width;
    this.height = options.height;
    this.#pages = new PageTree(this.#file, options);
  }

  addPage(): void {
    this.#endPage();
    this.#page = this.#file.reserve();
  }

  /** Draws content that screen readers skip: boxes, page numbers, a repeated table head. */
  decoration(draw: () => void): void {
    this.#endText();
    this.#content.add("/Artifact BMC\n");
    draw();
    this.#endText();
    this.#content.add("EMC\n");
  }

  /** Opens an element of the structure tree; what is drawn until `close` belongs to it. */
  open(role: Role, options: ElementOptions = {}): void {
    this.#structure.open(role, options);
  }

  close(): void {
    this.#structure.close();
  }

  /** Draws content of the innermost open element. */
  content(draw: () => void): void {
    this.#endText();
    const number = this.#structure.addContent(this.#page);
    this.#content.add(`/${this.#structure.role}<</MCID ${number}>>BDC\n`);
    draw();
    this.#endText();
    this.#content.add("EMC\n");
  }

  /** Draws an element with one content. @param read text for screen readers instead of the drawn text */
  element(role: Role, draw: () => void, options: ElementOptions = {}): void {
    this.open(role, options);
    this.content(draw);
    this.close();
  }

  /**
   * Draws a cell of a table, text only. It is as `element` but quicker, because cells share a text object.
   * @param read text for screen readers instead of the drawn text
   */
  cell(draw: () => void, read: string | null): void {
    const number = this.#structure.addElement("TD", this.#page, read);
    this.#beginText();
    this.#content.add("/TD<</MCID ");
    this.#content.addHundredths(number * 100);
    this.#content.add(">>BDC\n");
    draw();
    this.#content.add("EMC\n");
  }

  /** Adds a cell in which nothing is drawn. */
  emptyCell(): void {
    this.open("TD");
    this.close();
  }

  /** Fills a rectangle. */
  box(x: number, y: number, width: number, height: number, color: string): void {
    this.#endText();
    this.#setColor(color);
    this.#add(x, this.height - y - height, width, height);
    this.#content.add("re f\n");
  }

  /** Draws a line through points. */
  line(points: readonly (readonly [x: number, y: number])[], width: number, color: string): void {
    this.#endText();
    this.#content.add(`q ${colorOperands(color)}RG 1 j `);
    this.#add(width);
    this.#content.add("w ");
    this.#path(points.map((at, i) => ({ to: i === 0 ? "move" : "line", at })));
    this.#content.add("S Q\n");
  }

  /** Fills an area. @param outline its colour and width; null: it has none */
  area(path: readonly PathStep[], color: string, outline: { color: string; width: number } | null): void {
    this.#endText();
    this.#setColor(color);
    if (!outline) {
      this.#path(path);
      return this.#content.add("f\n");
    }
    this.#content.add(`q ${colorOperands(outline.color)}RG 1 j `);
    this.#add(outline.width);
    this.#content.add("w ");
    this.#path(path);
    this.#content.add("B Q\n");
  }

  /** Draws an image; it is embedded once. */
  image(source: ImageSource, x: number, y: number, width: number, height: number): void {
    this.#endText();
    let image = this.#sources.get(source);
    if (!image) {
      image = embedImage(this.#file, `I${this.#sources.size + 1}`, source);
      this.#sources.set(source, image);
    }
    this.#content.add("q ");
    this.#add(width);
    this.#content.add("0 0 ");
    this.#add(height, x, this.height - y - height);
    this.#content.add(`cm/${image.name} Do Q\n`);
  }

  /** Draws a line of text at the baseline `y`. @returns its width */
  text(line: string, x: number, y: number, style: TextStyle): number {
    return style.isItalic ? this.#italic(line, x, y, style) : this.#upright(line, x, y, style);
  }

  /** Draws slanted text, because the fonts have no italic styles. */
  #italic(line: string, x: number, y: number, style: TextStyle): number {
    this.#endText();
    this.#content.add(`q 1 0 ${SLANT} 1 `);
    this.#add(-SLANT * (this.height - y), 0);
    this.#content.add("cm\n");
    this.#forgetState();
    const width = this.#upright(line, x, y, style);
    this.#endText();
    this.#content.add("Q\n");
    this.#forgetState();
    return width;
  }

  #upright(line: string, x: number, y: number, style: TextStyle): number {
    this.#beginText();
    this.#setColor(style.color);
    if (isPlain(line)) return this.#unshaped(line, x, y, style.font, style.size);
    let at = x;
    for (const run of runsOf(line)) {
      const font = run.font === "sans" ? style.font : run.font;
      at += isUnshaped(run.text)
        ? this.#unshaped(run.text, at, y, font, style.size)
        : this.#shaped(run, at, y, font, style.size);
    }
    return at - x;
  }

  /** Draws a placeholder on the current page for a text that is known only at the end. All pages share one text. */
  drawPlaceholder(x: number, y: number): void {
    this.#placeholder ??= this.#file.reserve();
    this.#endText();
    this.#content.add("q 1 0 0 1 ");
    this.#add(x, this.height - y);
    this.#content.add("cm/Later Do Q\n");
  }

  /** Sets the text of all placeholders. Call it once, with text of the main font. */
  fillPlaceholder(text: string, { font, size, color }: TextStyle): void {
    if (this.#placeholder === null) return;
    const embedded = this.#fontOf(font);
    const content = new PageContent();
    content.add(`${colorOperands(color)}rg BT/${embedded.name} ${size} Tf<`);
    for (const character of text) content.addGlyph(embedded.glyphOf(character.codePointAt(0) ?? 0));
    content.add(">Tj ET");
    const resources = `/Resources<</Font<</${embedded.name} ${embedded.id} 0 R>>>>`;
    const entries = `/Type/XObject/Subtype/Form/BBox[0 -10 200 20]${resources}`;
    this.#file.writeStream(content.take(), entries, { id: this.#placeholder });
  }

  /** Removes and returns the finished bytes. */
  take(): Uint8Array<ArrayBuffer>[] {
    return this.#file.take();
  }

  /** Ends the document. Then `take` returns the last bytes. */
  end(): void {
    this.#endPage();
    this.#structure.end();
    const file = this.#file;
    const fonts = [...this.#fonts.values()];
    for (const font of fonts) font.end();
    const names = fonts.map(({ name, id }) => `/${name} ${id} 0 R`).join("");
    const later = this.#placeholder === null ? "" : `/Later ${this.#placeholder} 0 R`;
    const images = [...this.#sources.values()].map(({ name, id }) => `/${name} ${id} 0 R`).join("");
    this.#pages.end(`/Font<<${names}>>/XObject<<${later}${images}>>`);
    const { title, author, createdAt, language } = this.options;
    const info = file.write(
      `<</Title${pdfText(title)}/Author${pdfText(author)}/CreationDate${pdfDate(createdAt)}>>`,
    );
    const root = file.write(
      `<</Type/Catalog/Pages ${this.#pages.root} 0 R/Lang${pdfText(language)}` +
        `/MarkInfo<</Marked true>>/StructTreeRoot ${this.#structure.root} 0 R` +
        `/ViewerPreferences<</DisplayDocTitle true>>>>`,
    );
    file.end({ root, info, fileId: crypto.randomUUID().replaceAll("-", "") });
  }

  #endPage(): void {
    if (this.#page === 0) return;
    this.#endText();
    const content = this.#file.writeStream(this.#content.take());
    this.#pages.add(this.#page, content, this.#structure.pageKey);
    this.#structure.endPage();
    this.#forgetState();
  }

  /** Draws text with one glyph per character. @returns its width */
  #unshaped(text: string, x: number, y: number, font: FontName, size: number): number {
    const embedded = this.#select(font, size);
    this.#moveTo(x, y);
    this.#content.add("<");
    let width = 0;
    for (let i = 0; i < text.length; i++) {
      const codePoint = text.codePointAt(i) ?? 0;
      if (codePoint > 0xffff) i++;
      const glyph = embedded.glyphOf(codePoint);
      width += embedded.widthOf(glyph);
      this.#content.addGlyph(glyph);
    }
    this.#content.add(">Tj\n");
    return width * size / 1000;
  }

  /**
   * Draws text that the font shapes. Its glyphs may be in another order than its characters, so it also gets a text to
   * copy. Text from right to left gets none: readers order its glyphs themselves, and would reverse such a text.
   * @returns its width
   */
  #shaped({ text, direction }: Run, x: number, y: number, font: FontName, size: number): number {
    const embedded = this.#select(font, size);
    const content = this.#content;
    const isCopied = direction === "ltr";
    if (isCopied) content.add(`/Span<</ActualText${pdfText(text)}>>BDC\n`);
    let pen = 0;
    let isOpen = false;
    const end = () => {
      if (isOpen) content.add(">]TJ\n");
      isOpen = false;
    };
    for (const glyph of embedded.shape(text, direction)) {
      const isMoved = glyph.x !== 0 || glyph.y !== 0;
      if (isMoved) end();
      if (!isOpen) {
        this.#moveTo(x + (pen + glyph.x) * size / 1000, y - glyph.y * size / 1000);
        content.add("[<");
        isOpen = true;
      }
      content.addGlyph(glyph.glyph);
      pen += glyph.advance;
      if (isMoved) end();
      else if (glyph.advance !== glyph.width) {
        content.add(">");
        content.addHundredths(Math.round((glyph.width - glyph.advance) * 100));
        content.add("<");
      }
    }
    end();
    if (isCopied) content.add("EMC\n");
    return pen * size / 1000;
  }

  #select(font: FontName, size: number): EmbeddedFont {
    if (this.#embedded?.font === font && this.#size === size) return this.#embedded;
    const embedded = this.#fontOf(font);
    this.#content.add(`/${embedded.name} ${size} Tf\n`);
    this.#embedded = embedded;
    this.#size = size;
    return embedded;
  }

  #fontOf(font: FontName): EmbeddedFont {
    let embedded = this.#fonts.get(font);
    if (!embedded) {
      embedded = new EmbeddedFont(`F${this.#fonts.size + 1}`, font, this.#file);
      this.#fonts.set(font, embedded);
    }
    return embedded;
  }

  #setColor(color: string): void {
    if (color === this.#color) return;
    this.#content.add(`${colorOperands(color)}rg\n`);
    this.#color = color;
  }

  #moveTo(x: number, y: number): void {
    const [toX, toY] = [Math.round(x * 100), Math.round((this.height - y) * 100)];
    this.#content.addHundredths(toX - this.#penX);
    this.#content.addHundredths(toY - this.#penY);
    this.#content.add("Td");
    this.#penX = toX;
    this.#penY = toY;
  }

  #path(steps: readonly PathStep[]): void {
    for (const step of steps) {
      if (step.to === "close") this.#content.add("h ");
      else if (step.to === "curve") {
        for (const [x, y] of [step.first, step.second, step.at]) this.#add(x, this.height - y);
        this.#content.add("c ");
      } else {
        this.#add(step.at[0], this.height - step.at[1]);
        this.#content.add(step.to === "move" ? "m " : "l ");
      }
    }
  }

  #add(...numbers: number[]): void {
    for (const number of numbers) this.#content.addHundredths(Math.round(number * 100));
  }

  /** Font and colour are set again by the next operators. */
  #forgetState(): void {
    this.#embedded = null;
    this.#color = "";
  }

  #beginText(): void {
    if (this.#isInText) return;
    this.#content.add("BT\n");
    this.#isInText = true;
    this.#penX = 0;
    this.#penY = 0;
  }

  #endText(): void {
    if (!this.#isInText) return;
    this.#content.add("ET\n");
    this.#isInText = false;
  }
}

/** A color `#rrggbb` as three operands. */
const colorOperands = (color: string): string =>
  [1, 3, 5].map((at) => `${Math.round(parseInt(color.slice(at, at + 2), 16) / 2.55) / 100} `).join("");
