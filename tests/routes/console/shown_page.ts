import assert from "node:assert/strict";
import { DomUtils, parseDocument } from "htmlparser2";

export type Tag = ReturnType<typeof DomUtils.getElementsByTagName>[number];
type Node = Tag["children"][number] | NonNullable<Tag["parent"]>;

/** Elements whose text continues the line they are in. */
const INLINE = new Set(
  "a abbr b code del em i ins kbd label mark strong sub sup time".split(" "),
);
const CONTROLS = new Set(["input", "select", "textarea"]);
/** `within` looks for these: the parts of a page that have their own buttons. */
const PARTS = new Set(["tr", "li", "form", "fieldset", "section", "div", "dialog", "details", "article"]);

const isTag = (node: object): node is Tag => "attribs" in node;
const isText = (node: Node): node is Node & { data: string } => String(node.type) === "text";
const normal = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

/** The text of a node as it is read: without hidden parts, and with a space between blocks. */
export function textOf(node: Node): string {
  const read = (each: Node): string => {
    if (isText(each)) return each.data;
    if (!("children" in each)) return "";
    const inside = each.children.map((child) => read(child as Node)).join("");
    if (!isTag(each)) return inside;
    if (["template", "script", "style"].includes(each.name) || "hidden" in each.attribs) return "";
    return INLINE.has(each.name) ? inside : ` ${inside} `;
  };
  return normal(read(node));
}

/** An HTML page as a browser without scripts shows it. Names are those that a screen reader says. */
export class ShownPage {
  readonly tags: Tag[];

  constructor(
    /** Its path and query, without the origin. */
    readonly address: string,
    readonly status: number,
    readonly headers: Headers,
    readonly html: string,
    /** Where it redirects to, if that is another site. */
    readonly location = "",
  ) {
    const isHtml = headers.get("content-type")?.includes("text/html") ?? false;
    const root = parseDocument(isHtml ? html : "");
    this.tags = DomUtils.filter((node) => isTag(node), root) as Tag[];
    this.#index();
  }

  readonly #named = new Map<string, Tag[]>();
  readonly #labels = new Map<string, Tag[]>();

  #index(): void {
    for (const tag of this.tags) {
      const { id, for: of } = tag.attribs;
      if (id !== undefined) this.#named.set(id, [...this.#named.get(id) ?? [], tag]);
      if (tag.name === "label" && of) this.#labels.set(of, [...this.#labels.get(of) ?? [], tag]);
    }
  }

  all(name: string, has: (tag: Tag) => boolean = () => true): Tag[] {
    return this.tags.filter((tag) => (name === "*" || tag.name === name) && has(tag));
  }

  get main(): Tag | undefined {
    return this.all("main")[0] ?? this.all("body")[0];
  }

  /** The text of the page's main part. */
  get text(): string {
    return this.main ? textOf(this.main) : normal(this.html);
  }

  get heading(): string {
    return this.all("h1").map(textOf).join();
  }

  /** The text of each row of the tables. */
  get rows(): string[] {
    return this.all("tr", (row) => row.parent !== null && (row.parent as Tag).name === "tbody").map(textOf);
  }

  /** Fails if one of the texts is missing in the main part. */
  shows(...texts: (string | RegExp)[]): this {
    for (const text of texts) {
      const isThere = typeof text === "string" ? this.text.includes(text) : text.test(this.text);
      assert.ok(
        isThere,
        `${this.address} (${this.status}) does not show ${text}:\n${this.text.slice(0, 3_000)}`,
      );
    }
    return this;
  }

  /** Fails if one of the texts is in the main part. */
  lacks(...texts: string[]): this {
    for (const text of texts) assert.ok(!this.text.includes(text), `${this.address} shows ${text}`);
    return this;
  }

  /** Names of the main part's links and submit buttons. */
  get offers(): string[] {
    return this.#inMain((tag) => tag.name === "a" || isButton(tag)).map((tag) => this.nameOf(tag));
  }

  /** Addresses of the main part's links. */
  get hrefs(): string[] {
    return this.#inMain(({ name }) => name === "a").map(({ attribs }) => attribs.href ?? "");
  }

  #inMain(has: (tag: Tag) => boolean): Tag[] {
    return this.main ? DomUtils.filter((node) => isTag(node) && has(node), this.main) as Tag[] : [];
  }

  /** The accessible name of a link, button or control. */
  nameOf(tag: Tag): string {
    const { "aria-label": label, "aria-labelledby": by, id, title = "" } = tag.attribs;
    if (label) return label;
    const labels = by
      ? by.split(" ").flatMap((each) => this.#named.get(each) ?? [])
      : CONTROLS.has(tag.name)
      ? [...this.#labels.get(id ?? "") ?? [], ...around(tag, "label")]
      : [tag];
    return labels.map(labelText).filter(Boolean).join(" ") || title;
  }

  /** The smallest part of the page with `text` in which something fulfils `has`; the page without `text`. */
  #part(text: string | undefined, has: (tag: Tag) => boolean): Tag[] {
    const inside = (part: Tag) => DomUtils.filter((node) => isTag(node) && has(node), part) as Tag[];
    if (text === undefined) return this.tags.filter(has);
    const parts = this.tags.filter((tag) =>
      PARTS.has(tag.name) && textOf(tag).includes(text) && inside(tag).length
    );
    const [smallest] = parts.toSorted((a, b) => textOf(a).length - textOf(b).length);
    assert.ok(smallest, `${this.address} has no part with "${text}":\n${this.text.slice(0, 2_000)}`);
    return inside(smallest);
  }

  /** The link with a name or address, or the submit button with a name; of several, `within` tells the one in the part with that text. */
  pressable(kind: "a" | "button", name: string, within?: string): Tag {
    const isOne = (tag: Tag) => kind === "a" ? tag.name === "a" && "href" in tag.attribs : isButton(tag);
    const named = (fits: (found: string) => boolean) =>
      this.#part(within, (tag) => isOne(tag) && (fits(this.nameOf(tag)) || tag.attribs.href === name));
    const exact = this.#part(undefined, (tag) => isOne(tag) && isSame(this.nameOf(tag), name)).length > 0;
    const found = named((found) => exact ? isSame(found, name) : found.startsWith(name));
    const places = new Set(found.map((tag) => tag.attribs.href ?? found.indexOf(tag)));
    assert.equal(
      places.size,
      1,
      `${this.address} (${this.status}) has ${places.size} × "${name}"; it offers ${this.offers}`,
    );
    return found[0] as Tag;
  }

  /** The controls of a form, also those outside of it that name it. */
  controlsOf(form: Tag): Tag[] {
    const owner = (tag: Tag) =>
      tag.attribs.form === undefined
        ? around(tag, "form")[0]
        : this.tags.find(({ attribs }) => attribs.id === tag.attribs.form);
    return this.tags.filter((tag) => CONTROLS.has(tag.name) && owner(tag) === form);
  }

  /** The controls with a name or a part of it, by the name or id of the input, or by the value of a box. */
  controls(label: string, among = this.tags.filter(({ name }) => CONTROLS.has(name))): Tag[] {
    const usable = among.filter(({ attribs }) => attribs.type !== "hidden");
    const fits: ((tag: Tag) => boolean)[] = [
      (tag) => this.nameOf(tag) === label,
      ({ attribs }) =>
        [attribs.name, attribs.id].includes(label) || (isBox(attribs) && attribs.value === label),
      (tag) => this.nameOf(tag).startsWith(label),
      (tag) => this.nameOf(tag).includes(label),
    ];
    return fits.map((fit) => usable.filter(fit)).find(({ length }) => length > 0) ?? [];
  }

  /** The only control with a name. */
  control(label: string): Tag {
    const found = this.controls(label);
    assert.equal(found.length, 1, `${this.address} (${this.status}) has ${found.length} controls "${label}"`);
    return found[0] as Tag;
  }

  /** The value of the only control with a name; of a box whether it is ticked. */
  value(label: string): string | boolean {
    const tag = this.control(label);
    return isBox(tag.attribs) ? "checked" in tag.attribs : valueOf(tag);
  }

  isDisabled(label: string): boolean {
    return disabled(this.control(label));
  }

  /** The texts of the options of a drop-down list. */
  options(label: string): string[] {
    return optionsOf(this.control(label)).map(textOf);
  }
}

/** Returns true if two names are the same, however their parts are set apart. */
const isSame = (name: string, other: string): boolean =>
  name.replaceAll(/\s/g, "") === other.replaceAll(/\s/g, "");
/** A button that sends a form. Those of dialogs are for scripts. */
export const isButton = (tag: Tag): boolean =>
  tag.name === "button" && (tag.attribs.type ?? "submit") === "submit" &&
  around(tag, "form")[0]?.attribs.method !== "dialog";
export const isBox = ({ type = "" }: Tag["attribs"]): boolean => type === "checkbox" || type === "radio";
export const disabled = (tag: Tag): boolean =>
  "disabled" in tag.attribs || around(tag, "fieldset").some(({ attribs }) => "disabled" in attribs);
export const optionsOf = (select: Tag): Tag[] => DomUtils.getElementsByTagName("option", select);
export const optionValue = (option: Tag): string => option.attribs.value ?? textOf(option);

/** The elements of a kind around a tag, from the inside. */
export function around(tag: Tag, name: string): Tag[] {
  const found: Tag[] = [];
  for (let each = tag.parent; each !== null; each = each.parent) {
    if (isTag(each) && each.name === name) found.push(each);
  }
  return found;
}

/** The value that a control sends. */
export function valueOf(tag: Tag): string {
  if (tag.name === "textarea") return DomUtils.textContent(tag).replace(/^\r?\n/, "");
  if (tag.name === "input") return tag.attribs.value ?? (isBox(tag.attribs) ? "on" : "");
  const options = optionsOf(tag);
  const chosen = options.find(({ attribs }) => "selected" in attribs) ?? options[0];
  return chosen ? optionValue(chosen) : "";
}

/** The text of a label without the controls in it and without what is hidden from screen readers. */
function labelText(label: Tag): string {
  const parts = label.children.map((child) => {
    if (!isTag(child)) return isText(child) ? child.data : "";
    if (CONTROLS.has(child.name) || child.attribs["aria-hidden"] === "true") return "";
    return `${child.name === "img" ? child.attribs.alt ?? "" : labelText(child)}${
      INLINE.has(child.name) ? "" : " "
    }`;
  });
  return normal(parts.join(""));
}
