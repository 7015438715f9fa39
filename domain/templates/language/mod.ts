export { TemplateInvalid, type TemplatePart, TemplateVariablesMissing } from "./errors.ts";
export { TemplateLimitExceeded } from "./values/budget.ts";
export { FILTER_NAMES } from "./filters.ts";
export { htmlToText } from "./html_text.ts";
export { MAX_WAITING, RenderQueueFull, RenderThreads } from "./render_threads.ts";
export { parseRequiredVariables } from "./required_variables.ts";
export type { Inspection } from "./parse.ts";
export type { PartSource } from "./lowering.ts";
export { compileTemplate, type RenderedTemplate, type TemplateSource } from "./template.ts";
