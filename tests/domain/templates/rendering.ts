import { compileTemplate, type TemplateSource } from "../../../domain/templates/language/mod.ts";

type Data = Record<string, unknown>;

/** A source with only an HTML body, in English; `change` overrides members. */
export function source(html: string, change: Partial<TemplateSource> = {}): TemplateSource {
  return { subject: null, html, text: null, locale: "en", requiredVariables: [], ...change };
}

export function html(template: string, data: Data = {}, locale = "en"): string {
  return compileTemplate(source(template, { locale })).render(data).html ?? "";
}

export function text(template: string, data: Data = {}, locale = "en"): string {
  return compileTemplate(source("", { html: null, text: template, locale })).render(data).text ?? "";
}

/** Intl separates with no-break and narrow no-break spaces; tests write ordinary spaces. */
export function plainSpaces(written: string): string {
  return written.replace(/[\u00a0\u202f]/g, " ");
}
