/** What a part of the text is, in PDF's own words. */
export type Role = "H1" | "H2" | "P" | "TH" | "TD";
type Group = "Document" | "Table" | "THead" | "TBody" | "TR";

/** An object of a PDF file; it is written when it is ended. */
export interface PdfObject {
  data: Record<string, unknown>;
  end(content?: string): void;
}

/** What of a document the structure is written into. */
export interface StructuredDocument {
  _root: PdfObject;
  ref(entries: Record<string, unknown>): PdfObject;
}

interface Node {
  role: Role | Group;
  /** Where its content is drawn; null: nowhere, as of a group or an empty cell. */
  drawn: { page: number; mark: number } | null;
  /** What is read instead of what is drawn. */
  text: string | null;
  children: Node[];
}

/** A tree of more takes memory that grows with the rows, and makes the file several times larger. */
const MOST_NODES = 25_000;

/**
 * What a document's content is and the order it is read in: headings, paragraphs, one table with its head. Screen
 * readers go by it, and whoever copies the table out. A document too long for it has none.
 */
export class Structure {
  #open: Node[] = [{ role: "Document", drawn: null, text: null, children: [] }];
  #pages: PdfObject[] = [];
  #marks = 0;
  #nodes = 0;

  /** @param page the page's dictionary, as yet unwritten. */
  beginPage(page: PdfObject): void {
    page.data.StructParents = this.#pages.length;
    this.#pages.push(page);
    this.#marks = 0;
  }

  /** What is added until `close` is a part of this. */
  open(role: Group): void {
    const node = this.#add(role, null, null);
    if (node) this.#open.push(node);
  }

  close(): void {
    this.#open.pop();
  }

  /** Adds content of the page that was begun last; returns the number to mark it by, null when there is no tree. */
  draws(role: Role, text: string | null): number | null {
    const drawn = { page: this.#pages.length - 1, mark: this.#marks };
    return this.#add(role, drawn, text) ? this.#marks++ : null;
  }

  /** Adds what nothing is drawn for: an empty cell. */
  empty(role: Role): void {
    this.#add(role, null, null);
  }

  /** Writes the tree, if it is one. Call it before the document ends. */
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
    if (!parent || ++this.#nodes > MOST_NODES) {
      this.#open = []; // too long: what was kept is let go, and nothing more is
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
    if (text !== null) element.data.ActualText = new String(text); // a plain string would be a name
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
