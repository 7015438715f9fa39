import { TemplateLimitExceeded } from "./errors.ts";

/** The most one render may take and write, over all its parts together. */
export const RENDER_MILLISECONDS = 100;
export const RENDER_BYTES = 1_048_576;

/** Work between two looks at the clock; one unit is one step of a template or 32 characters of text handled. */
const WORK_PER_LOOK = 128;
const encoder = new TextEncoder();

/**
 * What one render has left. Every step pays through `charge` before or as it is done, and no step is larger than a
 * bounded text or one object's list of keys, so a hostile template overshoots by one such step at most.
 */
export class Budget {
  private readonly deadline = performance.now() + RENDER_MILLISECONDS;
  private work = 0;
  private written = 0;

  /** Accounts for one step that handles `characters` of text; throws TemplateLimitExceeded. */
  charge(characters: number): void {
    this.work += 1 + (characters >> 5);
    if (this.work >= WORK_PER_LOOK) this.look();
  }

  /** Accounts for text that becomes output (UTF-16 units never exceed its UTF-8 bytes). */
  spend(text: string): void {
    this.written += text.length;
    if (this.written > RENDER_BYTES) throw new TemplateLimitExceeded("size", RENDER_BYTES);
  }

  /** Refuses a text that is larger than a whole render may be, before work is put into it. */
  admit(text: string): void {
    this.bound(text);
    this.charge(text.length);
  }

  /** The same for a text under construction, whose pieces have been paid for. */
  bound(text: string): void {
    if (text.length > RENDER_BYTES) throw new TemplateLimitExceeded("size", RENDER_BYTES);
  }

  /** Checks the finished parts in bytes, and the clock a last time. */
  settle(parts: readonly (string | null)[]): void {
    this.look();
    if (this.written * 3 <= RENDER_BYTES) return;
    const bytes = parts.reduce((sum, part) => sum + (part === null ? 0 : encoder.encode(part).length), 0);
    if (bytes > RENDER_BYTES) throw new TemplateLimitExceeded("size", RENDER_BYTES);
  }

  private look(): void {
    this.work = 0;
    if (performance.now() > this.deadline) throw new TemplateLimitExceeded("time", RENDER_MILLISECONDS);
  }
}
