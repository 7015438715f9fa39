import { Budget } from "./values/budget.ts";
import { TemplateInvalid, type TemplatePart, TemplateVariablesMissing } from "./errors.ts";
import { lowerProgram } from "./lower.ts";
import type { PartSource } from "./lowering.ts";
import { parseSource } from "./parse.ts";
import { Source } from "./source.ts";
import { missingVariables } from "./required_variables.ts";
import { type Emit, rootScope, write } from "./scope.ts";

/** The sources of a template. `locale` is a BCP 47 tag. A part is null if the template does not have it. */
export interface TemplateSource {
  subject: string | null;
  html: string | null;
  text: string | null;
  locale: string;
  requiredVariables: string[];
  /** The texts of `t` by key; absent: none. */
  texts?: Readonly<Record<string, string>>;
  /** True for a layout: its `{{{ body }}}` shows the member `body` of the data. */
  isLayout?: boolean;
  /** The slug of a partial, which must not contain itself. */
  partialSlug?: string | null;
  /** The layout that surrounds the HTML, and the text if the layout has a text body; absent: no layout. */
  layout?: PartSource | null;
  /** Partials by slug. */
  partials?: Readonly<Record<string, PartSource>>;
}

export type RenderedTemplate = Pick<TemplateSource, "subject" | "html" | "text">;

/** A compiled template. It can be rendered many times and keeps no state between renders. */
export interface CompiledTemplate {
  /**
   * Renders all parts. Together they may take 100 ms and 1 MiB. HTML output is escaped except in `{{{ }}}` and `{{& }}`.
   * Line breaks in the subject become spaces. Throws TemplateVariablesMissing, TemplateLimitExceeded, and TemplateInvalid
   * if a filter argument from the data is invalid.
   * @param looks the value of `@looks`
   */
  render(data: Record<string, unknown>, looks?: Readonly<Record<string, unknown>>): RenderedTemplate;
}

const LINE_BREAKS = /\r\n|[\n\v\f\r\x85\u2028\u2029]/g;

/** Compiles a template. Throws TemplateInvalid with part, line and column. */
export function compileTemplate(source: TemplateSource): CompiledTemplate {
  const locale = canonicalLocale(source.locale);
  const { layout, texts = {} } = source;
  const compile = (part: TemplatePart, text: string | null, surrounding: string | null = null) => {
    const own = compilePart(part, text, {
      ...source,
      texts,
      locale,
      body: source.isLayout ? sampleBody : null,
    });
    if (own === null || surrounding === null) return own;
    return compileLayout(part, surrounding, { ...source, texts: layout?.texts ?? {}, locale, body: own });
  };
  const subject = compile("subject", source.subject);
  const html = compile("html", source.html, layout?.html ?? null);
  const text = compile("text", source.text, layout?.text ?? null);
  const required = [...source.requiredVariables];
  return {
    render(data, looks = {}) {
      const missing = missingVariables(required, data);
      if (missing.length > 0) throw new TemplateVariablesMissing(missing);
      const run = { root: data, looks, budget: new Budget(), output: "" };
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

/** Writes the member `body` of the data, which a preview of a layout contains. */
const sampleBody: Emit = (run) => {
  const { body } = run.root as { body?: unknown };
  if (typeof body === "string") write(run, body);
};

interface PartOptions extends Pick<TemplateSource, "partials" | "partialSlug"> {
  texts: Readonly<Record<string, string>>;
  locale: string;
  /** Writes the `{{{ body }}}` of a layout; null if the part is not of a layout. */
  body: Emit | null;
}

function compilePart(part: TemplatePart, text: string | null, o: PartOptions): Emit | null {
  if (text === null) return null;
  const source = new Source(part, text);
  const { program, tags } = parseSource(source);
  const remaining = tags.values();
  const emit = lowerProgram(program, {
    source,
    locale: o.locale,
    texts: o.texts,
    parameters: [],
    isHtml: part === "html",
    tags: remaining,
    partials: {
      sources: o.partials ?? {},
      compiled: new Map(),
      path: o.partialSlug ? [o.partialSlug] : [],
      levels: 0,
    },
    body: o.body,
  });
  const unused = remaining.next();
  if (!unused.done) {
    throw source.invalidAt(unused.value.offset, "this tag matches no statement of the template");
  }
  return emit;
}

/** Compiles the layout of a part. Its errors are reported at the start of the part, with their position in the layout. */
function compileLayout(part: TemplatePart, text: string, o: PartOptions): Emit | null {
  try {
    // The body gets the data of the render, even inside a block of the layout.
    const body: Emit = (run) => o.body?.(run, rootScope(run.root));
    return compilePart(part, text, { ...o, body });
  } catch (error) {
    if (!(error instanceof TemplateInvalid)) throw error;
    const { line, column, reason } = error;
    throw new TemplateInvalid(part, 1, 1, `in the layout, line ${line}, column ${column}: ${reason}`);
  }
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
