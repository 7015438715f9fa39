import { type ColumnType, isNumeric, isoInstant, stableText } from "./columns.ts";
import type { Total } from "./exact_total.ts";

/** Language and time zone of a tenant's documents. Without a locale, they are English with ISO 8601 dates. */
export interface DocumentLanguage {
  locale: string | null;
  timeZone: string;
}

/** Texts of a report by language, such as `pt`, and by the text as it is declared. */
export type Translations = Readonly<Record<string, Readonly<Record<string, string>>>>;

const ENGLISH = {
  tenant: "Tenant",
  allTenants: "All tenants",
  generated: "Generated",
  times: "All times",
  requestedBy: "Requested by",
  yes: "yes",
  no: "no",
  none: "(none)",
  rows: "Rows",
  rowCount: (count: number) => count === 0 ? "No rows." : `${count} ${count === 1 ? "row" : "rows"}`,
  others: "(others)",
  continued: "(continued)",
  page: (page: number) => `Page ${page} of `,
  sum: "Total",
  count: "Count",
  average: "Average",
  min: "Lowest",
  max: "Highest",
  noData: "No data.",
  noValue: "no value",
  shown: (first: number, all: number) => `The first ${first} of ${all} values are shown.`,
  more: (count: number) => `and ${count} more`,
};
export type Words = typeof ENGLISH;
const PORTUGUESE: Words = {
  tenant: "Inquilino",
  allTenants: "Todos os inquilinos",
  generated: "Gerado em",
  times: "Horários",
  requestedBy: "Solicitado por",
  yes: "sim",
  no: "não",
  none: "(nenhum)",
  rows: "Linhas",
  rowCount: (count) => count === 0 ? "Nenhuma linha." : `${count} ${count === 1 ? "linha" : "linhas"}`,
  others: "(outros)",
  continued: "(continuação)",
  page: (page) => `Página ${page} de `,
  sum: "Total",
  count: "Quantidade",
  average: "Média",
  min: "Mínimo",
  max: "Máximo",
  noData: "Sem dados.",
  noValue: "sem valor",
  shown: (first, all) => `São mostrados os primeiros ${first} de ${all} valores.`,
  more: (count) => `e mais ${count}`,
};

/** The locale whose dates look like ISO 8601. */
const ISO_DATES = "sv-SE";
const DAY = { year: "numeric", month: "2-digit", day: "2-digit" } as const;
const TIME = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" } as const;

/** The fixed words of a document, and its cells as its readers write them. */
export class Wording {
  readonly words: Words;
  /** The language of the words, as a tag. */
  readonly tag: string;
  readonly #days: Intl.DateTimeFormat;
  readonly #instants: Intl.DateTimeFormat;
  /** By the number of decimals. */
  readonly #numbers = new Map<number, Intl.NumberFormat>();

  constructor(
    private readonly language: DocumentLanguage = { locale: null, timeZone: "UTC" },
    private readonly translations: Translations = {},
  ) {
    const { locale, timeZone } = language;
    this.words = /^pt\b/i.test(locale ?? "") ? PORTUGUESE : ENGLISH;
    this.tag = locale ?? "en";
    this.#days = new Intl.DateTimeFormat(locale ?? ISO_DATES, { ...DAY, timeZone: "UTC" });
    this.#instants = new Intl.DateTimeFormat(locale ?? ISO_DATES, { ...DAY, ...TIME, timeZone });
  }

  get timeZone(): string {
    return this.language.timeZone;
  }

  instant(at: Date): string {
    return this.#instants.format(at);
  }

  /** A declared text in the language of the document. */
  text(text: string): string {
    return this.translations[this.tag.split("-")[0]?.toLowerCase() ?? ""]?.[text] ?? text;
  }

  total(total: Total): string {
    return this.words[total];
  }

  /** A cell as readers see it. Numbers keep all their digits. Special values such as `NaN` and `infinity` stay unchanged. */
  cell(cell: string, type: ColumnType): string {
    if (type === "text") return cell;
    if (type === "boolean") return cell === "t" ? this.words.yes : this.words.no;
    if (isNumeric(type)) return this.#number(cell);
    const at = new Date(stableText(cell, type));
    const isDated = !Number.isNaN(at.getTime()) && /^\d{4}-/.test(cell) && !cell.endsWith("BC");
    if (!isDated) return type === "instant" ? isoInstant(cell) : cell;
    return (type === "date" ? this.#days : this.#instants).format(at);
  }

  /** The value of a group as readers see it; "(none)" for null or an empty text. */
  group(value: string | null, type: ColumnType = "text"): string {
    return value === null || value === "" ? this.words.none : this.cell(value, type);
  }

  #number(cell: string): string {
    const plain = /^-?\d+(?:\.(\d{1,100}))?$/.exec(cell);
    if (!plain) return cell;
    const decimals = plain[1]?.length ?? 0;
    let format = this.#numbers.get(decimals);
    if (!format) {
      format = new Intl.NumberFormat(this.language.locale ?? "en", {
        minimumFractionDigits: decimals,
        maximumFractionDigits: decimals,
        useGrouping: decimals === 0 ? "min2" : "always", // a year has no separator
      });
      this.#numbers.set(decimals, format);
    }
    return format.format(cell as Intl.StringNumericLiteral);
  }
}
