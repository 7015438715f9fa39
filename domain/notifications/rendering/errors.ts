/** Which of a template's sources a problem is in; `locale` when the language tag itself is unusable. */
export type TemplatePart = "subject" | "html" | "text" | "locale";

/**
 * A template that cannot be understood: syntax, an unknown filter, a wrong filter argument, a feature that is
 * not offered. `line` and `column` count from 1 and point into the source of `part`.
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

/** Required variables that the data lacks or holds as null. Becomes NOTIFICATION_TEMPLATE_VARIABLES_MISSING. */
export class TemplateVariablesMissing extends Error {
  override readonly name = "TemplateVariablesMissing";
  constructor(readonly names: string[]) {
    super(`The template requires values for: ${names.join(", ")}`);
  }
}

/** A render that was stopped because it ran too long or wrote too much; nothing of it is kept. */
export class TemplateLimitExceeded extends Error {
  override readonly name = "TemplateLimitExceeded";
  constructor(readonly limit: "time" | "size", readonly allowed: number) {
    super(
      limit === "time"
        ? `The template was still rendering after ${allowed} ms, the most one render may take`
        : `The template produced more than ${allowed} bytes, the most one render may produce`,
    );
  }
}
