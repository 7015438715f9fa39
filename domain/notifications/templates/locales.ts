import type { Queryable } from "../../../infra/postgres/postgres.ts";
import { invalid } from "../../problems/problem.ts";

const LAST_RESORT = "en";

/**
 * A language tag in its canonical spelling, `pt_br` as `pt-BR`.
 * @throws VALIDATION_ERROR naming `field`.
 */
export function canonicalLocale(tag: string, field = "locale"): string {
  try {
    const [canonical] = Intl.getCanonicalLocales(tag.trim().replaceAll("_", "-"));
    if (canonical) return canonical;
  } catch {
    // refused below, in words of ours
  }
  throw invalid({ [field]: [`expected a language tag such as pt-BR, found "${tag.slice(0, 40)}"`] });
}

/** Where a template is looked for, in order and lower case: the wanted tag and its shorter forms, the tenant's default, English. */
export function localeChain(wanted: string | null, tenantDefault: string | null): string[] {
  return [...new Set([...localeForms(wanted), ...localeForms(tenantDefault), LAST_RESORT])];
}

/** A tag and its shorter forms in lower case, the longest first. */
export function localeForms(tag: string | null): string[] {
  if (tag === null) return [];
  const parts = tag.toLowerCase().split("-");
  return parts.map((_, index) => parts.slice(0, parts.length - index).join("-"));
}

/** The tenant's default locale; null where none was set. */
export async function readDefaultLocale(q: Queryable, tenantId: string | null): Promise<string | null> {
  if (tenantId === null) return null;
  const [row] = await q<{ defaultLocale: string }[]>`
    select default_locale from notification_settings where tenant_id = ${tenantId}`;
  return row?.defaultLocale ?? null;
}
