import { invalidateCache, onCacheInvalidation } from "../../../infra/postgres/cache_invalidation.ts";
import type { Sql, Tx } from "../../../infra/postgres/postgres.ts";
import { sharedTransaction } from "../../../infra/postgres/shared_transaction.ts";
import { findTemplate, type FoundTemplate } from "./read.ts";

/** A change made elsewhere is seen at the latest this much later, even when it was not heard of. */
const FRESH_MS = 600;
const REMEMBERED = 500;

type Requirements = Pick<FoundTemplate, "requiredVariables" | "versionId">;

interface Remembered {
  found: Promise<Requirements>;
  foundAt: number;
}

const memories = new WeakMap<Sql, Map<string, Remembered>>();

function memoryOf(sql: Sql): Map<string, Remembered> {
  const known = memories.get(sql);
  if (known) return known;
  const memory = new Map<string, Remembered>();
  memories.set(sql, memory);
  onCacheInvalidation(sql, "templates", () => memory.clear());
  return memory;
}

/**
 * The version of a template that messages get, and what it requires of them, remembered for less than a second: many
 * messages are made of one template.
 */
export class TemplateCache {
  readonly #memory: Map<string, Remembered>;

  constructor(private readonly sql: Sql) {
    this.#memory = memoryOf(sql);
  }

  /** @throws NOTIFICATION_TEMPLATE_NOT_FOUND, VALIDATION_ERROR for a locale that is none */
  async find(tenantId: string | null, slug: string, locale: string | null): Promise<Requirements> {
    // what is read within a transaction may fail with it, which is nobody else's matter
    if (sharedTransaction()) return await findTemplate(this.sql, tenantId, slug, locale);
    const key = JSON.stringify([tenantId, slug, locale]);
    const known = this.#memory.get(key);
    if (known && performance.now() - known.foundAt < FRESH_MS) return await known.found;
    const entry = { found: this.#read(tenantId, slug, locale), foundAt: performance.now() };
    this.#memory.delete(key);
    if (this.#memory.size >= REMEMBERED) this.#memory.delete(this.#memory.keys().next().value ?? "");
    this.#memory.set(key, entry);
    try {
      return await entry.found;
    } catch (error) {
      if (this.#memory.get(key) === entry) this.#memory.delete(key);
      throw error;
    }
  }

  async #read(tenantId: string | null, slug: string, locale: string | null): Promise<Requirements> {
    const { requiredVariables, versionId } = await findTemplate(this.sql, tenantId, slug, locale);
    return { requiredVariables, versionId };
  }
}

/** Has templates looked up anew once `tx` has committed, on every instance. */
export const invalidateTemplates = (sql: Sql, tx: Tx): void => invalidateCache(sql, tx, "templates");
