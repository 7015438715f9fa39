import { announceChange } from "../../infra/postgres/changes.ts";
import { isTransaction, type Sql, type Tx } from "../../infra/postgres/postgres.ts";
import { cacheOfDatabase } from "../shared/ttl_cache.ts";
import { pinParts, type TemplatePins } from "./parts.ts";
import { findTemplate, type FoundTemplate } from "./read.ts";

/** Lifetime of an entry. If the invalidation by another instance is lost, its change is missed for at most this time. */
const TTL_MS = 600;
const MAX_ENTRIES = 500;

/** The facts about a template that a new message needs. */
interface Requirements extends Pick<FoundTemplate, "requiredVariables" | "versionId"> {
  pins: TemplatePins | null;
}

const cacheOf = cacheOfDatabase<Requirements>("templates", { ttlMs: TTL_MS, maxEntries: MAX_ENTRIES });

/**
 * The current version of a template, its required variables, and the versions of its parts. They are cached, because many
 * messages use the same template. A transaction bypasses the cache.
 * @throws NOTIFICATION_TEMPLATE_NOT_FOUND, VALIDATION_ERROR for an invalid locale
 */
export async function findRequirements(
  q: Sql,
  tenantId: string | null,
  slug: string,
  locale: string | null,
): Promise<Requirements> {
  const read = async () => {
    const template = await findTemplate(q, tenantId, slug, locale);
    const { requiredVariables, versionId } = template;
    return { requiredVariables, versionId, pins: await pinParts(q, tenantId, template, locale) };
  };
  if (isTransaction(q)) return await read();
  return await cacheOf(q).read(JSON.stringify([tenantId, slug, locale]), read);
}

/** Clears the template cache of every instance when `tx` commits. */
export const invalidateTemplates = (tx: Tx): void => announceChange(tx, { topic: "templates" });
