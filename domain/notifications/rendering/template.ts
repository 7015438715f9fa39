import { Budget } from "./budget.ts";
import { TemplateInvalid, type TemplatePart, TemplateVariablesMissing } from "./errors.ts";
import { lowerProgram } from "./lower.ts";
import { parseSource } from "./parse.ts";
import { Source } from "./source.ts";
import { missingVariables } from "./required_variables.ts";
import { type Emit, rootScope } from "./scope.ts";

/** The sources of a template. `locale` is a BCP 47 tag. A part is null if the template does not have it. */
export interface TemplateSource {
  subject: string | null;
  html: string | null;
  text: string | null;
  locale: string;
  requiredVariables: string[];
}

export interface RenderedTemplate {
  subject: string | null;
  html: string | null;
  text: string | null;
}

/** A compiled template. It can be rendered many times and keeps no state between renders. */
export interface CompiledTemplate {
  /**
   * Renders all parts. Together they may take 100 ms and 1 MiB. HTML output is escaped except in `{{{ }}}` and `{{& }}`.
   * Line breaks in the subject become spaces. Throws TemplateVariablesMissing, TemplateLimitExceeded, and TemplateInvalid
   * if a filter argument from the data is invalid.
   */
  render(data: Record<string, unknown>): RenderedTemplate;
}

const LINE_BREAKS = /\r\n|[\n\v\f\r\x85\u2028\u2029]/g;

/** Compiles a template. Throws TemplateInvalid with part, line and column. */
export function compileTemplate(source: TemplateSource): CompiledTemplate {
  const locale = canonicalLocale(source.locale);
  const subject = compilePart("subject", source.subject, locale);
  const html = compilePart("html", source.html, locale);
  const text = compilePart("text", source.text, locale);
  const required = [...source.requiredVariables];
  return {
    render(data) {
      const missing = missingVariables(required, data);
      if (missing.length > 0) throw new TemplateVariablesMissing(missing);
      const run = { root: data, budget: new Budget(), output: "" };
      const scope = rootScope(data);
      const render = (part: Emit | null): string | null => {
        if (part === null) return null;
        run.output = "";
        part(run, scope);
        return run.output;
      };
      const rendered = { subject: render(subject), html: render(html), text: render(text) };
      run.budget.checkTotals([rendered.subject, rendered.html, rendered.text]);
      return { ...rendered, subject: rendered.subject?.replace(LINE_BREAKS, " ") ?? null };
    },
  };
}

function compilePart(part: TemplatePart, text: string | null, locale: string): Emit | null {
  if (text === null) return null;
  const source = new Source(part, text);
  const { program, tags } = parseSource(source);
  const remaining = tags.values();
  const emit = lowerProgram(program, {
    source,
    locale,
    parameters: [],
    isHtml: part === "html",
    tags: remaining,
  });
  const unused = remaining.next();
  if (!unused.done) {
    throw source.invalidAt(unused.value.offset, "this tag matches no statement of the template");
  }
  return emit;
}

function canonicalLocale(tag: string): string {
  try {
    return Intl.getCanonicalLocales(tag.replaceAll("_", "-"))[0] ?? "en";
  } catch {
    throw new TemplateInvalid(
      "locale",
      1,
      1,
      `expected a language tag such as pt-BR, found \`${tag.slice(0, 40)}\``,
    );
  }
}
