import { escapeHtml } from "../shared/html.ts";

/** HTML that `html` or `unsafeHtml` made. Only these functions make it, so data of a request cannot pass for it. */
export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** A value in a template: a text or a number is escaped, null, undefined and false are left out. */
export type HtmlValue = string | number | Html | null | undefined | false | readonly HtmlValue[];

/**
 * HTML from a template whose values are escaped: html`<p class="${kind}">${text}</p>`. In a tag, a value stands inside quotes.
 * A list is the HTML of its items.
 */
export const html = (parts: TemplateStringsArray, ...values: HtmlValue[]): Html =>
  new Html(parts.map((part, index) => part + textOf(values[index])).join(""));

/** HTML from a text that is not escaped. Never use it for what users or other systems have entered. */
export const unsafeHtml = (text: string): Html => new Html(text);

function textOf(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return "";
  if (value instanceof Html) return value.toString();
  return Array.isArray(value)
    ? value.map(textOf).join("")
    : escapeHtml(String(value)).replaceAll("'", "&#39;");
}
