import { lockNamed } from "../../infra/postgres/advisory_locks.ts";
import { type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { requireSchedule } from "../jobs/cron.ts";
import { invalid } from "../problems/problem.ts";
import type { Caller } from "../rights/caller.ts";
import { definedMembers } from "../shared/defined_members.ts";
import { newId } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";
import { contentTag, requireTag, requireVersion } from "../shared/version.ts";
import type { TemplatePlatform } from "./platform.ts";
import { canonicalLocale, type NotificationSettings, readNotificationSettings } from "./locales.ts";
import { type StoredTemplate, type TemplateContent, templateNotFound } from "./read.ts";
import { invalidateTemplates } from "./template_cache.ts";
import { requireValidTemplate } from "./render.ts";
import { requireTemplateVersion } from "./versions.ts";

export type NewTemplate = TemplateContent & Pick<StoredTemplate, "slug">;
type Writer = Pick<TemplatePlatform, "sql" | "renderThreads" | "config" | "baseUrl">;
/** A change of a template. A member that is left out stays unchanged; null removes a text. */
export type TemplateChange =
  & { templateId?: string | null | undefined }
  & Partial<Omit<NewTemplate, "slug" | "locale" | "kind">>;

/**
 * Creates a template in the caller's tenant.
 * @throws NOTIFICATION_TEMPLATE_INVALID, NOTIFICATION_TEMPLATE_ALREADY_EXISTS, VALIDATION_ERROR
 */
export async function createTemplate(
  p: Writer,
  caller: Caller,
  given: NewTemplate,
): Promise<StoredTemplate> {
  const template = { ...given, locale: canonicalLocale(given.locale) };
  requireSomeText(template);
  requireNoLayout(template);
  const checked = await requireValidTemplate(p, caller.tenantId, template);
  return await transact(p.sql, async (tx) => {
    const partSlugs = await recheck(p, tx, caller.tenantId, template, checked);
    const [row] = await tx<StoredTemplate[]>`
      insert into notification_templates (id, tenant_id, slug, name, locale, subject_template, html_body_template,
        text_body_template, required_variables, changed_by, kind, layout_slug, texts, part_slugs)
      values (${newId()}, ${caller.tenantId}, ${template.slug}, ${template.name}, ${template.locale},
        ${template.subjectTemplate}, ${template.htmlBodyTemplate}, ${template.textBodyTemplate},
        ${template.requiredVariables}, ${caller.userId}, ${template.kind}, ${template.layoutSlug},
        ${jsonOf(template.texts)}::text::jsonb, ${partSlugs}::text[])
      returning *`;
    const created = row as StoredTemplate;
    invalidateTemplates(tx);
    await auditChange(tx, caller, "create", created.id, undefined, created);
    return created;
  });
}

/**
 * Changes a template and increases its version.
 * @throws VALIDATION_ERROR, NOTIFICATION_TEMPLATE_NOT_FOUND, PRECONDITION_FAILED, NOTIFICATION_TEMPLATE_INVALID
 */
export async function updateTemplate(
  p: Writer,
  caller: Caller,
  id: string,
  { templateId, ...change }: TemplateChange,
  ifMatch: string | null,
): Promise<StoredTemplate> {
  if ((templateId ?? id) !== id) {
    throw invalid({ templateId: [`found ${templateId}; expected ${id}, the id in the path`] });
  }
  return await changeTemplate(p, caller, id, definedMembers(change), ifMatch);
}

/**
 * Creates a new version with the texts of an earlier version. The name is not changed.
 * @throws NOTIFICATION_TEMPLATE_NOT_FOUND, PRECONDITION_FAILED, NOTIFICATION_TEMPLATE_INVALID
 */
export async function restoreTemplateVersion(
  p: Writer,
  caller: Caller,
  id: string,
  version: number,
  ifMatch: string | null,
): Promise<StoredTemplate> {
  await requireOwnTemplate(p.sql, caller.tenantId, id);
  const former = await requireTemplateVersion(p.sql, id, version);
  const { subjectTemplate, htmlBodyTemplate, textBodyTemplate, requiredVariables, layoutSlug, texts } =
    former;
  const change = {
    subjectTemplate,
    htmlBodyTemplate,
    textBodyTemplate,
    requiredVariables,
    layoutSlug,
    texts,
  };
  return await changeTemplate(p, caller, id, change, ifMatch);
}

/** Writes a change of a template as its next version. */
async function changeTemplate(
  p: Writer,
  caller: Caller,
  id: string,
  change: Partial<NewTemplate>,
  ifMatch: string | null,
): Promise<StoredTemplate> {
  const stored = await requireOwnTemplate(p.sql, caller.tenantId, id);
  requireVersion(ifMatch, stored.version);
  requireNoLayout({ ...stored, ...change });
  // Checked before the row is locked, because compiling may be slow.
  const checked = await requireValidTemplate(p, caller.tenantId, { ...stored, ...change });
  return await transact(p.sql, async (tx) => {
    const before = await requireOwnTemplate(tx, caller.tenantId, id, tx`for update`);
    requireVersion(ifMatch, before.version);
    const after: StoredTemplate = { ...before, ...change };
    requireSomeText(after);
    const partSlugs = await recheck(
      p,
      tx,
      caller.tenantId,
      after,
      before.version === stored.version ? checked : null,
    );
    const [row] = await tx<StoredTemplate[]>`
      update notification_templates set name = ${after.name}, subject_template = ${after.subjectTemplate},
        html_body_template = ${after.htmlBodyTemplate}, text_body_template = ${after.textBodyTemplate},
        required_variables = ${after.requiredVariables}, layout_slug = ${after.layoutSlug},
        texts = ${
      jsonOf(after.texts)
    }::text::jsonb, part_slugs = ${partSlugs}::text[], version = version + 1, updated_at = now(),
        changed_by = ${caller.userId}
      where id = ${id} returning *`;
    invalidateTemplates(tx);
    await auditChange(tx, caller, "update", id, before, after);
    return row as StoredTemplate;
  });
}

/**
 * Checks a template again that was changed since it was checked, and a partial that contains others: one after the other
 * within a tenant, so that no changes at the same time make partials contain each other.
 * @param checked the slugs of its partials; null: it was changed since
 * @returns the slugs of its partials
 * @throws NOTIFICATION_TEMPLATE_INVALID
 */
async function recheck(
  p: Writer,
  tx: Tx,
  tenantId: string | null,
  template: NewTemplate,
  checked: string[] | null,
): Promise<string[]> {
  const isPartial = template.kind === "Partial" && checked?.length !== 0;
  if (isPartial) await lockNamed(tx, "partials", tenantId ?? "");
  return checked && !isPartial ? checked : await requireValidTemplate({ ...p, sql: tx }, tenantId, template);
}

/** Deletes a template of the caller's tenant. @throws NOTIFICATION_TEMPLATE_NOT_FOUND, PRECONDITION_FAILED */
export async function deleteTemplate(
  p: Pick<Platform, "sql">,
  caller: Caller,
  id: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const before = await requireOwnTemplate(tx, caller.tenantId, id, tx`for update`);
    requireVersion(ifMatch, before.version);
    await tx`delete from notification_templates where id = ${id}`;
    invalidateTemplates(tx);
    await auditChange(tx, caller, "delete", id, before, undefined);
  });
}

async function requireOwnTemplate(
  q: Sql,
  tenantId: string | null,
  id: string,
  lock = q``,
): Promise<StoredTemplate> {
  const [row] = await q<StoredTemplate[]>`
    select * from notification_templates where id = ${id} and tenant_id is not distinct from ${tenantId}::uuid ${lock}`;
  if (!row) throw templateNotFound(id);
  return row;
}

const jsonOf = (texts: StoredTemplate["texts"]): string | null => texts && JSON.stringify(texts);

/** Refuses a `layoutSlug` of a layout or partial, because only templates have a layout. @throws VALIDATION_ERROR */
function requireNoLayout({ kind, layoutSlug }: Pick<NewTemplate, "kind" | "layoutSlug">): void {
  if (kind === "Template" || layoutSlug === null) return;
  throw invalid({ layoutSlug: [`a template of the kind ${kind} has no layout; expected null`] });
}

function requireSomeText(
  template: Pick<NewTemplate, "subjectTemplate" | "htmlBodyTemplate" | "textBodyTemplate">,
) {
  if (template.subjectTemplate || template.htmlBodyTemplate || template.textBodyTemplate) return;
  throw invalid({ htmlBodyTemplate: ["expected at least one of subject, HTML body and text body"] });
}

/** The audit row of a change. It does not contain the texts, to keep mail bodies out of the audit log. */
async function auditChange(
  tx: Tx,
  caller: Caller,
  verb: string,
  id: string,
  before: StoredTemplate | undefined,
  after: StoredTemplate | undefined,
): Promise<void> {
  const summary = (t: StoredTemplate | undefined) =>
    t && { slug: t.slug, locale: t.locale, name: t.name, requiredVariables: t.requiredVariables };
  await recordAudit(tx, caller, `notification-template.${verb}`, id, {
    before: before && { ...summary(before), version: before.version },
    after: summary(after),
  });
}

/**
 * Sets the tenant's default locale, and its time zone if one is given; returns both, the locale in its canonical form.
 * Null removes either.
 * @throws VALIDATION_ERROR, PRECONDITION_FAILED
 */
export async function setNotificationSettings(
  sql: Sql,
  tenantId: string,
  given: { defaultLocale: string | null; timeZoneId?: string | null | undefined },
  ifMatch: string | null,
): Promise<NotificationSettings> {
  const defaultLocale = given.defaultLocale === null
    ? null
    : canonicalLocale(given.defaultLocale, "defaultLocale");
  if (given.timeZoneId) requireSchedule("0 0 * * *", given.timeZoneId);
  return await transact(sql, async (tx) => {
    // A missing row is inserted, so that it can be locked.
    await tx`insert into notification_settings (tenant_id) values (${tenantId}) on conflict (tenant_id) do nothing`;
    await tx`select from notification_settings where tenant_id = ${tenantId} for update`;
    const former = await readNotificationSettings(tx, tenantId);
    requireTag(ifMatch, contentTag(former));
    const timeZoneId = given.timeZoneId === undefined ? former.timeZoneId : given.timeZoneId;
    await tx`update notification_settings set default_locale = ${defaultLocale}, time_zone_id = ${timeZoneId},
      updated_at = now() where tenant_id = ${tenantId}`;
    invalidateTemplates(tx);
    return { defaultLocale, timeZoneId };
  });
}
