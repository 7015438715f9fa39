const FAULT = "REPORT_TEMPLATE_FAULT";

/** A mistake in the template itself. Its message is shown in the execution. */
export class TemplateFault extends Error {
  override name = "TemplateFault";
  /** Identifies the error after it was posted from another thread, where its class is lost. */
  readonly code = FAULT;
}

/** Is the error a mistake in the template itself? */
export const isTemplateFault = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && error.code === FAULT;
