const FAULT = "REPORT_TEMPLATE_FAULT";

/** An error in the template itself. The execution shows its message. */
export class TemplateFault extends Error {
  override name = "TemplateFault";
  /** Identifies the error after it was posted from another thread, where its class is lost. */
  readonly code = FAULT;
}

/** True if the template itself caused the error. */
export const isTemplateFault = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && error.code === FAULT;
