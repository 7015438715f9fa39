import { MarkupInvalid } from "../../documents/markup/markup.ts";
import { isTemplateFault } from "../../documents/template_fault.ts";
import { Problem, problem } from "../../problems/problem.ts";
import {
  RenderQueueFull,
  TemplateInvalid,
  TemplateLimitExceeded,
  type TemplatePart,
  TemplateVariablesMissing,
} from "../../templates/language/mod.ts";
import { tooManyRenders } from "../../templates/render.ts";

/** Runs `work` and converts its errors to problems of document templates. */
export async function withProblems<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw problemOf(error);
  }
}

/** The request field of each part of a template. Partials give the title their text and the body their HTML. */
const FIELDS: Record<TemplatePart, string> = {
  subject: "titleTemplate",
  html: "bodyTemplate",
  text: "bodyTemplate",
  locale: "locale",
};

function problemOf(error: unknown): unknown {
  if (error instanceof TemplateVariablesMissing) return variablesMissing(error.names, "data");
  if (error instanceof TemplateInvalid) {
    const { part, line, column, reason } = error;
    const field = FIELDS[part];
    const position = `line ${line}, column ${column}: ${reason}`;
    return problem("DOCUMENT_TEMPLATE_INVALID", `${field}, ${position}`, { errors: { [field]: [position] } });
  }
  if (error instanceof MarkupInvalid) {
    const errors = { bodyTemplate: [error.message] };
    return problem("DOCUMENT_TEMPLATE_INVALID", `bodyTemplate, ${error.message}`, { errors });
  }
  if (error instanceof TemplateLimitExceeded) return problem("DOCUMENT_TEMPLATE_INVALID", error.message);
  if (error instanceof RenderQueueFull) return tooManyRenders(error);
  if (isTemplateFault(error)) {
    const errors = { bodyTemplate: [error.message] };
    return problem("DOCUMENT_TEMPLATE_INVALID", error.message, { errors });
  }
  return ofPartials(error);
}

/** The search for partials reports its problems as those of message templates. */
function ofPartials(error: unknown): unknown {
  if (!(error instanceof Problem)) return error;
  if (error.code === "NOTIFICATION_TEMPLATE_INVALID") {
    return problem("DOCUMENT_TEMPLATE_INVALID", error.message);
  }
  if (error.code !== "NOTIFICATION_TEMPLATE_NOT_FOUND") return error;
  const detail = `The template uses a partial that is missing. ${error.message}`;
  return problem("DOCUMENT_TEMPLATE_INVALID", detail);
}

/** @param field the data's name in the request */
export const variablesMissing = (names: string[], field: string): Problem =>
  problem(
    "DOCUMENT_TEMPLATE_VARIABLES_MISSING",
    `${field} lacks variables that the template requires: ${names.join(", ")}.`,
    {
      errors: Object.fromEntries(
        names.map((name) => [`${field}.${name}`, ["the template requires a value"]]),
      ),
    },
  );
