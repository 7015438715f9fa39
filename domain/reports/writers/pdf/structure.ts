/** PDF structure types of content (ISO 32000, tagged PDF). */
export type Role = "H1" | "H2" | "P" | "TH" | "TD";
type Group = "Document" | "Table" | "THead" | "TBody" | "TR";

/** An indirect object of a PDF file; `end` writes it. */
export interface PdfObject {
  data: Record<string, unknown>;
  end(content?: string): void;
}

/** The part of pdfkit's document that the structure tree needs. */
export interface StructuredDocument {
  _root: PdfObject;
  ref(entries: Record<string, unknown>): PdfObject;
}

interface Node {
  role: Role | Group;
  /** Page index and marked-content id of its content; null for groups and empty cells. */
  drawn: { page: number; mark: number } | null;
  /** Text that screen readers read instead of the drawn text (ActualText). */
  text: string | null;
  children: Node[];
}

/** Upper limit of the tree: it stays in memory and makes the file several times larger. */
const MAX_NODES = 25_000;

/**
 * The structure tree of a tagged PDF: headings, paragraphs and one table with its head, in reading order. Screen
 * readers and copying the table need it. A document with more than MAX_NODES nodes gets no tree.
 */
export class Structure {
  #open: Node[] = [{ role: "Document", drawn: null, text: null, children: [] }];
  #pages: PdfObject[] = [];
  #marks = 0;
  #nodes = 0;

  /** Starts a page. @param page the page's dictionary, which must not be written yet */
  beginPage(page: PdfObject): void {
    page.data.StructParents = this.#pages.length;
    this.#pages.push(page);
    this.#marks = 0;
  }

  /** Opens a group; content is added to it until `close`. */
  open(role: Group): void {
    const node = this.#add(role, null, null);
    if (node) this.#open.push(node);
  }

  close(): void {
    this.#open.pop();
  }

  /** Adds content of the current page. @returns its marked-content id; null if there is no tree */
  addDrawn(role: Role, text: string | null): number | null {
    const drawn = { page: this.#pages.length - 1, mark: this.#marks };
    return this.#add(role, drawn, text) ? this.#marks++ : null;
  }

  /** Adds an empty cell, for which nothing is drawn. */
  addEmpty(role: Role): void {
    this.#add(role, null, null);
  }

  /** Writes the tree, if there is one. Call it before the document ends. */
  write(document: StructuredDocument): void {
    const [tree] = this.#open;
    if (!tree) return;
    const parents: PdfObject[][] = this.#pages.map(() => []);
    const root = document.ref({ Type: "StructTreeRoot", ParentTreeNextKey: parents.length });
    root.data.K = this.#write(document, tree, root, parents);
    root.data.ParentTree = { Nums: parents.flatMap((elements, page) => [page, elements]) };
    const marking = document.ref({ Marked: true });
    Object.assign(document._root.data, { StructTreeRoot: root, MarkInfo: marking }); // pdfkit ends both
  }

  #add(role: Node["role"], drawn: Node["drawn"], text: string | null): Node | null {
    const parent = this.#open.at(-1);
    if (!parent || ++this.#nodes > MAX_NODES) {
      this.#open = []; // too many nodes: drop the tree
      return null;
    }
    const node = { role, drawn, text, children: [] };
    parent.children.push(node);
    return node;
  }

  #write(
    document: StructuredDocument,
    { role, drawn, text, children }: Node,
    parent: PdfObject,
    parents: PdfObject[][],
  ): PdfObject {
    const element = document.ref({ S: role, P: parent });
    if (role === "TH") element.data.A = { O: "Table", Scope: "Column" };
    if (text !== null) element.data.ActualText = new String(text); // pdfkit writes a primitive string as a PDF name
    if (drawn) {
      Object.assign(element.data, { Pg: this.#pages[drawn.page], K: drawn.mark });
      const ofPage = parents[drawn.page];
      if (ofPage) ofPage[drawn.mark] = element;
    } else if (children.length > 0) {
      element.data.K = children.map((child) => this.#write(document, child, element, parents));
    }
    element.end();
    return element;
  }
}
