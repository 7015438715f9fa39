import { invalidateCache, onCacheInvalidation } from "../../../infra/postgres/cache_invalidation.ts";
import type { Sql, Tx } from "../../../infra/postgres/postgres.ts";
import { sharedTransaction } from "../../../infra/postgres/shared_transaction.ts";
import { findTemplate, type FoundTemplate } from "./read.ts";

/** Lifetime of an entry. It bounds how long a change made by another instance is missed if its invalidation is lost. */
const TTL_MS = 600;
const MAX_ENTRIES = 500;

type Requirements = Pick<FoundTemplate, "requiredVariables" | "versionId">;

interface Entry {
  found: Promise<Requirements>;
  foundAt: number;
}

const entriesByPool = new WeakMap<Sql, Map<string, Entry>>();

/** The cache entries of a database pool; all TemplateCaches of the pool share them. */
function entriesOf(sql: Sql): Map<string, Entry> {
  const existing = entriesByPool.get(sql);
  if (existing) return existing;
  const entries = new Map<string, Entry>();
  entriesByPool.set(sql, entries);
  onCacheInvalidation(sql, "templates", () => entries.clear());
  return entries;
}

/** Caches the current version of templates and their required variables, because many messages use the same template. */
export class TemplateCache {
  readonly #entries: Map<string, Entry>;

  constructor(private readonly sql: Sql) {
    this.#entries = entriesOf(sql);
  }

  /** @throws NOTIFICATION_TEMPLATE_NOT_FOUND, VALIDATION_ERROR for an invalid locale */
  async find(tenantId: string | null, slug: string, locale: string | null): Promise<Requirements> {
    // a read in a shared transaction may fail with that transaction, so it is not cached
    if (sharedTransaction()) return await findTemplate(this.sql, tenantId, slug, locale);
    const key = JSON.stringify([tenantId, slug, locale]);
    const cached = this.#entries.get(key);
    if (cached && performance.now() - cached.foundAt < TTL_MS) return await cached.found;
    const entry = { found: this.#read(tenantId, slug, locale), foundAt: performance.now() };
    this.#entries.delete(key);
    if (this.#entries.size >= MAX_ENTRIES) this.#entries.delete(this.#entries.keys().next().value ?? "");
    this.#entries.set(key, entry);
    try {
      return await entry.found;
    } catch (error) {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
      throw error;
    }
  }

  async #read(tenantId: string | null, slug: string, locale: string | null): Promise<Requirements> {
    const { requiredVariables, versionId } = await findTemplate(this.sql, tenantId, slug, locale);
    return { requiredVariables, versionId };
  }
}

/** Clears the template cache of every instance when `tx` commits. */
export const invalidateTemplates = (sql: Sql, tx: Tx): void => invalidateCache(sql, tx, "templates");
