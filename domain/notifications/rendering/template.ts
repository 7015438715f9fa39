import { Budget } from "./budget.ts";
import { TemplateInvalid, type TemplatePart, TemplateVariablesMissing } from "./errors.ts";
import { lowerProgram } from "./lower.ts";
import { parseSource } from "./parse.ts";
import { Source } from "./source.ts";
import { missingVariables } from "./required_variables.ts";
import { type Emit, rootScope } from "./scope.ts";

/** A template as stored: up to three sources in one locale (a BCP 47 tag) and the variables it cannot do without. */
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

/** A template ready to be rendered any number of times; it keeps no state between renders. */
export interface CompiledTemplate {
  /**
   * Renders all parts within 100 ms and 1 MiB together. HTML output is escaped except in `{{{ }}}` and `{{& }}`;
   * line breaks in the subject become spaces. Throws TemplateVariablesMissing, TemplateLimitExceeded, and
   * TemplateInvalid where a filter argument taken from the data is unusable.
   */
  render(data: Record<string, unknown>): RenderedTemplate;
}

const LINE_BREAKS = /\r\n|[\n\v\f\r\x85\u2028\u2029]/g;

/** Checks a template completely and prepares it. Throws TemplateInvalid with part, line and column. */
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
  const unclaimed = remaining.next();
  if (!unclaimed.done) throw source.invalidAt(unclaimed.value.offset, "this tag could not be placed");
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
