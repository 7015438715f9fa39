import { z } from "zod";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { invalid } from "../problems/problem.ts";

const FALLBACK = "en";

/**
 * A language tag in its canonical form: `pt_br` becomes `pt-BR`.
 * @throws VALIDATION_ERROR naming `field`.
 */
export function canonicalLocale(tag: string, field = "locale"): string {
  try {
    const [canonical] = Intl.getCanonicalLocales(tag.trim().replaceAll("_", "-"));
    if (canonical) return canonical;
  } catch {
    // An invalid tag is refused below.
  }
  throw invalid({ [field]: [`expected a language tag such as pt-BR, found "${tag.slice(0, 40)}"`] });
}

/**
 * The locales a template is searched in, in order and in lower case: the requested tag and its shorter forms, then the
 * tenant's default and its shorter forms, then English.
 */
export function localeChain(wanted: string | null, tenantDefault: string | null): string[] {
  return [...new Set([...localeForms(wanted), ...localeForms(tenantDefault), FALLBACK])];
}

/** A tag and its shorter forms in lower case, longest first: `pt-BR` gives `pt-br` and `pt`. */
export function localeForms(tag: string | null): string[] {
  if (tag === null) return [];
  const parts = tag.toLowerCase().split("-");
  return parts.map((_, index) => parts.slice(0, parts.length - index).join("-"));
}

/** Settings of a tenant for its messages and documents; null: not set. */
export const NotificationSettings = z.object({
  defaultLocale: z.string().nullable(),
  timeZoneId: z.string().nullable().describe("Of times in reports; null: UTC"),
}).meta({ id: "NotificationSettingsDto" });
export type NotificationSettings = z.output<typeof NotificationSettings>;

export async function readNotificationSettings(
  q: Sql,
  tenantId: string | null,
): Promise<NotificationSettings> {
  if (tenantId !== null) {
    const [row] = await q<NotificationSettings[]>`
      select default_locale, time_zone_id from notification_settings where tenant_id = ${tenantId}`;
    if (row) return { ...row };
  }
  return { defaultLocale: null, timeZoneId: null };
}

/** The tenant's default locale; null if none is set. */
export const readDefaultLocale = async (q: Sql, tenantId: string | null): Promise<string | null> =>
  (await readNotificationSettings(q, tenantId)).defaultLocale;
