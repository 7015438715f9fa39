/** The part of a template that contains an error; `locale` if the language tag is invalid. */
export type TemplatePart = "subject" | "html" | "text" | "locale";

/**
 * An invalid template: a syntax error, an unknown filter, a wrong filter argument or an unsupported feature. `line` and
 * `column` count from 1 and refer to the source of `part`.
 * Becomes NOTIFICATION_TEMPLATE_INVALID.
 */
export class TemplateInvalid extends Error {
  override readonly name = "TemplateInvalid";
  constructor(
    readonly part: TemplatePart,
    readonly line: number,
    readonly column: number,
    readonly reason: string,
  ) {
    super(`${part} template, line ${line}, column ${column}: ${reason}`);
  }
}

/** Required variables that are missing or null in the data. Becomes NOTIFICATION_TEMPLATE_VARIABLES_MISSING. */
export class TemplateVariablesMissing extends Error {
  override readonly name = "TemplateVariablesMissing";
  constructor(readonly names: string[]) {
    super(`The template requires values for: ${names.join(", ")}`);
  }
}
