/** Limits of one render, for all its parts together. */
export const RENDER_MILLISECONDS = 100;
const RENDER_BYTES = 1_048_576;

/** Work units between two checks of the clock. One unit is one step of a template or 32 characters of text. */
const WORK_PER_CHECK = 128;
/**
 * Work from which a render can exceed its time. Less work takes a few milliseconds, and only the load of the machine can
 * make it late.
 */
const MIN_WORK_FOR_TIMEOUT = 4_096;
const encoder = new TextEncoder();

/**
 * The time and output size that one render may still use. Every step calls `charge`. A step handles at most one bounded
 * text or the keys of one object, so a render exceeds its limits by one such step at most.
 */
export class Budget {
  private readonly deadline = performance.now() + RENDER_MILLISECONDS;
  private work = 0;
  private nextCheck = WORK_PER_CHECK;
  private written = 0;

  /** Counts one step that handles `characters` of text. Throws TemplateLimitExceeded. */
  charge(characters: number): void {
    this.work += 1 + (characters >> 5);
    if (this.work >= this.nextCheck) this.checkDeadline();
  }

  /** Counts text that becomes output. It counts UTF-16 units, which are never more than the UTF-8 bytes. */
  addOutput(text: string): void {
    this.written += text.length;
    if (this.written > RENDER_BYTES) throw new TemplateLimitExceeded("size", RENDER_BYTES);
  }

  /** Counts an input text. It throws, before any work is done, if the text is larger than the output of a render may be. */
  acceptText(text: string): void {
    this.checkSize(text.length);
    this.charge(text.length);
  }

  /** Throws if a text under construction is larger than the output of a render may be. Its pieces are charged separately. */
  checkSize(characters: number): void {
    if (characters > RENDER_BYTES) throw new TemplateLimitExceeded("size", RENDER_BYTES);
  }

  /** Checks the deadline and the total size of the finished parts in bytes. */
  checkTotals(parts: readonly (string | null)[]): void {
    this.checkDeadline();
    if (this.written * 3 <= RENDER_BYTES) return;
    const bytes = parts.reduce((sum, part) => sum + (part === null ? 0 : encoder.encode(part).length), 0);
    if (bytes > RENDER_BYTES) throw new TemplateLimitExceeded("size", RENDER_BYTES);
  }

  private checkDeadline(): void {
    this.nextCheck = this.work + WORK_PER_CHECK;
    const isLate = this.work >= MIN_WORK_FOR_TIMEOUT && performance.now() > this.deadline;
    if (isLate) throw new TemplateLimitExceeded("time", RENDER_MILLISECONDS);
  }
}

/** The limits of a render, and of making sample data. */
export type TemplateLimit = "time" | "size" | "steps";

const EXCEEDED: Record<TemplateLimit, (allowed: number) => string> = {
  time: (allowed) => `The template was still rendering after ${allowed} ms, the limit of one render`,
  size: (allowed) => `The template produced more than ${allowed} bytes, the limit of one render`,
  steps: (allowed) => `The sample data of the template needs more than ${allowed} steps, the limit`,
};

/** A render that exceeded its time or size limit, or sample data that needs too many steps. The output is discarded. */
export class TemplateLimitExceeded extends Error {
  override readonly name = "TemplateLimitExceeded";
  constructor(readonly limit: TemplateLimit, readonly allowed: number) {
    super(EXCEEDED[limit](allowed));
  }
}
