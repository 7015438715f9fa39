/** The elements and attributes of document templates. README.md describes them. */

const INLINE = ["b", "strong", "i", "em", "br", "pagenumber", "pagecount"] as const;
const BLOCKS = [
  ...["h1", "h2", "h3", "p", "address", "table", "columns", "logo", "qr", "hr", "space"] as const,
] as const;
const ONLY_ON_PAGE = ["header", "footer", "pagebreak"] as const;
const STRUCTURE = ["page", "column", "thead", "tbody", "tfoot", "tr", "th", "td"] as const;

export type ElementName =
  | typeof INLINE[number]
  | typeof BLOCKS[number]
  | typeof ONLY_ON_PAGE[number]
  | typeof STRUCTURE[number];

/** Elements without content. */
export const VOID_ELEMENTS: readonly ElementName[] = [
  ...["br", "hr", "logo", "qr", "space", "pagebreak", "pagenumber", "pagecount"] as const,
];

interface Content {
  elements: readonly ElementName[];
  hasText: boolean;
}

const text: Content = { elements: INLINE, hasText: true };
const blocks: Content = { elements: BLOCKS, hasText: false };
const nothing: Content = { elements: [], hasText: false };
const only = (...elements: ElementName[]): Content => ({ elements, hasText: false });

/** The elements and texts that each element may contain. */
export const CHILDREN: Record<ElementName, Content> = {
  page: { elements: [...BLOCKS, ...ONLY_ON_PAGE], hasText: false },
  header: blocks,
  footer: blocks,
  columns: only("column"),
  column: blocks,
  table: only("thead", "tbody", "tfoot"),
  thead: only("tr"),
  tbody: only("tr"),
  tfoot: only("tr"),
  tr: only("th", "td"),
  th: text,
  td: text,
  h1: text,
  h2: text,
  h3: text,
  p: text,
  address: text,
  b: text,
  strong: text,
  i: text,
  em: text,
  br: nothing,
  pagenumber: nothing,
  pagecount: nothing,
  logo: nothing,
  qr: nothing,
  hr: nothing,
  space: nothing,
  pagebreak: nothing,
};

interface Rule {
  expected: string;
  fits(value: string): boolean;
  isRequired?: true;
}

const oneOf = (...values: string[]): Rule => ({
  expected: `one of ${values.join(", ")}`,
  fits: (value) => values.includes(value),
});
const millimetres = (min: number, max: number): Rule => ({
  expected: `millimetres from ${min} to ${max}`,
  fits: (value) => /^\d{1,3}(\.\d{1,2})?$/.test(value) && Number(value) >= min && Number(value) <= max,
});
const percent: Rule = {
  expected: "a share such as 40%",
  fits: (value) => /^\d{1,2}(\.\d{1,2})?%$/.test(value) && parseFloat(value) >= 1,
};
const wholeNumber = (max: number): Rule => ({
  expected: `a number from 1 to ${max}`,
  fits: (value) => /^[1-9]\d?$/.test(value) && Number(value) <= max,
});
const align = oneOf("left", "center", "right");
const flag: Rule = { expected: "no value", fits: (value) => value === "" || value === "true" };

export const ATTRIBUTES: Record<ElementName, Record<string, Rule>> = {
  page: {
    size: oneOf("A4", "A5", "Letter"),
    layout: oneOf("portrait", "landscape"),
    margin: millimetres(5, 60),
    fontsize: { expected: "points from 7 to 14", fits: (value) => /^([7-9]|1[0-4])(\.5)?$/.test(value) },
  },
  header: { first: flag },
  footer: {},
  columns: {},
  column: { width: percent },
  table: { lines: oneOf("none", "rows", "stripes") },
  thead: {},
  tbody: {},
  tfoot: {},
  tr: {},
  th: { align, width: percent, colspan: wholeNumber(20) },
  td: { align, width: percent, colspan: wholeNumber(20) },
  h1: { align },
  h2: { align },
  h3: { align },
  p: { align, size: oneOf("small", "large") },
  address: {},
  b: {},
  strong: {},
  i: {},
  em: {},
  br: {},
  pagenumber: {},
  pagecount: {},
  logo: { align, height: millimetres(4, 60) },
  qr: {
    value: {
      expected: "a text of 1 to 1000 bytes",
      // A QR code can hold up to 2,953 bytes.
      fits: (value) => value.length > 0 && new TextEncoder().encode(value).length <= 1_000,
      isRequired: true,
    },
    size: millimetres(10, 80),
    align,
    description: { expected: "a text", fits: (value) => value.length <= 500 },
  },
  hr: {},
  space: { height: millimetres(1, 200) },
  pagebreak: {},
};
