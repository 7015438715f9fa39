import type { PdfFile } from "./pdf_file.ts";

/** Number of pages that share one node of the tree. */
const PAGES_PER_NODE = 64;

/** The pages of a PDF. Pages are written at once; only the numbers of their nodes stay in memory. */
export class PageTree {
  readonly root: number;
  #node = 0;
  #kids = "";
  #inNode = 0;
  #nodes = "";
  #count = 0;

  constructor(private readonly file: PdfFile, private readonly size: { width: number; height: number }) {
    this.root = file.reserve();
  }

  /** Writes a page. @param contentKey its number in the structure tree */
  add(page: number, content: number, contentKey: number): void {
    if (this.#inNode === 0) this.#node = this.file.reserve();
    this.file.write(
      `<</Type/Page/Parent ${this.#node} 0 R/Contents ${content} 0 R/StructParents ${contentKey}/Tabs/S>>`,
      page,
    );
    this.#kids += `${page} 0 R `;
    this.#count++;
    if (++this.#inNode === PAGES_PER_NODE) this.#endNode();
  }

  /** Writes the root. @param resources what the contents of all pages use */
  end(resources: string): void {
    if (this.#inNode > 0) this.#endNode();
    const { width, height } = this.size;
    this.file.write(
      `<</Type/Pages/Count ${this.#count}/Kids[${this.#nodes}]/MediaBox[0 0 ${width} ${height}]` +
        `/Resources<<${resources}>>>>`,
      this.root,
    );
  }

  #endNode(): void {
    const entries = `/Type/Pages/Parent ${this.root} 0 R/Count ${this.#inNode}/Kids[${this.#kids}]`;
    this.file.write(`<<${entries}>>`, this.#node);
    this.#nodes += `${this.#node} 0 R `;
    this.#kids = "";
    this.#inNode = 0;
  }
}
