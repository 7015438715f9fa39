import { TEMPLATE_KINDS } from "../../../domain/templates/read.ts";
import { buttonLink, type Choice } from "../components/forms.tsx";
import { choice, labelled, list, search, tenantColumn, text, timeColumn } from "../components/list.tsx";
import { Badge } from "../components/values.tsx";
import { orNull, Refusal } from "../shared/api.ts";
import type { Answer } from "../shared/operations.ts";
import { field, optionalField, typedText, type View, type Visit } from "../shared/page.ts";
import { everywhere, inTenantOf } from "../shared/scope.ts";
import { jsonField } from "./send.tsx";
import { templateTexts, versionTexts } from "./template_texts.ts";
import { textsIn } from "./text_rows.tsx";
import { notificationTexts } from "./texts.ts";

/** The tenant's templates and the built-in ones, by slug and locale. */
export async function templatesPage(v: Visit): Promise<View> {
  const t = templateTexts[v.locale];
  const kinds = kindChoices(v);
  const query = { includeShipped: v.query.get("own") !== "true", ...everywhere(v) };
  const page = await v.api.list("listNotificationTemplates", v, query);
  // Every tenant shows the service's own templates.
  const pageOf = (tenantId: string | null, end: string) =>
    tenantId === null ? `templates/${end}` : inTenantOf(v, tenantId, `templates/${end}`);
  const body = list(v, page, {
    caption: t.caption,
    empty: [t.empty, t.emptyText],
    filters: [
      search(t.search),
      text("locale", t.locale, { maxlength: 35 }),
      choice("kind", t.kind, kinds),
      choice("own", t.show, { true: t.customOnly }),
    ],
    columns: [
      {
        head: t.template,
        cell: ({ id, name, tenantId }) => <a href={pageOf(tenantId, id)}>{name}</a>,
        below: [
          [t.slug, ({ slug }) => <code>{slug}</code>],
          [t.origin, ({ isShipped }) => isShipped && <Badge tone="idle">{t.builtin}</Badge>],
        ],
      },
      ...await tenantColumn(v, page.items),
      {
        head: t.kind,
        cell: ({ kind }) => <span class="nowrap">{kinds.find(({ value }) => value === kind)?.label}</span>,
      },
      { head: t.locale, cell: ({ locale }) => <code>{locale}</code> },
      {
        head: t.version,
        align: "end",
        cell: ({ id, version, tenantId }) => (
          <a class="nowrap" href={pageOf(tenantId, `${id}/versions`)}>
            {versionTexts[v.locale].versionOf(version)}
          </a>
        ),
      },
      timeColumn(v, t.changed, "updatedAt"),
    ],
  });
  return {
    title: t.title,
    actions: buttonLink("templates/new", t.newTemplate, { icon: "plus", tone: "primary" }),
    body,
  };
}

export type Template = Answer<"readNotificationTemplate">;

/** The templates that use a layout or partial. */
export interface Uses {
  templates: Answer<"listTemplateUses">;
  documents: Answer<"listPartialDocumentUses">;
}

/** The data that the editor shows besides its inputs. */
export interface Edited {
  /** null: a new template. */
  template: Template | null;
  etag: string;
  /** Slugs of the layouts to choose from. */
  layouts: string[];
  /** Null for a template. */
  uses: Uses | null;
  /** Sample data as JSON; empty if the stored template does not compile. */
  sample: string;
}

export const newTemplate = async (v: Visit): Promise<Edited> => ({
  template: null,
  etag: "",
  layouts: await readLayouts(v),
  uses: null,
  sample: "",
});

/** The template of the page's path. */
export async function readEdited(v: Visit): Promise<Edited> {
  const { params } = v;
  const { value: template, etag } = await v.api.versioned("readNotificationTemplate", { params });
  const isTemplate = template.kind === "Template";
  const none: string[] = [];
  const [sample, layouts, uses] = await Promise.all([
    v.api.call("readTemplateSampleData", { params }).catch(noneIfInvalid),
    isTemplate ? readLayouts(v) : none,
    isTemplate ? null : readUses(v),
  ]);
  const { layoutSlug } = template;
  return {
    template,
    etag,
    layouts: layoutSlug === null || layouts.includes(layoutSlug) ? layouts : [...layouts, layoutSlug],
    uses,
    sample: sample === null ? "" : JSON.stringify(sample, null, 2),
  };
}

/** Document templates belong to tenants. */
async function readUses(v: Visit): Promise<Uses> {
  const { params } = v;
  const [templates, documents] = await Promise.all([
    orNull(v.api.call("listTemplateUses", { params })),
    v.viewer.tenant === null ? null : orNull(v.api.call("listPartialDocumentUses", { params })),
  ]);
  return { templates: templates ?? [], documents: documents ?? [] };
}

async function readLayouts(v: Visit): Promise<string[]> {
  const query = { kind: "Layout", includeShipped: true, pageSize: 100 };
  const { items } = await v.api.call("listNotificationTemplates", { query });
  return [...new Set(items.map(({ slug }) => slug))];
}

/** A stored template does not compile when one of its parts was changed or deleted. The preview shows why. */
function noneIfInvalid(refusal: unknown): null {
  if (refusal instanceof Refusal && refusal.status < 500) return null;
  throw refusal;
}

/** True if saving changes this template, and does not create a custom version. */
export const isOwn = (v: Visit, template: { id: string; isShipped?: boolean }): boolean =>
  !template.isShipped || v.viewer.tenant === null;

/** Labels of the parts of a template that messages show. */
export function templateLabels({ locale }: Visit) {
  const t = templateTexts[locale];
  return {
    name: t.name,
    subjectTemplate: t.subject,
    htmlBodyTemplate: t.htmlBody,
    textBodyTemplate: t.textBody,
    requiredVariables: t.required,
    layoutSlug: t.layout,
    texts: t.texts,
  };
}

/** Bodies, layout and texts as typed. */
export function contentIn(v: Visit, form: FormData) {
  return {
    subjectTemplate: typedText(form, "subjectTemplate") || null,
    htmlBodyTemplate: typedText(form, "htmlBodyTemplate") || null,
    textBodyTemplate: typedText(form, "textBodyTemplate") || null,
    requiredVariables: typedText(form, "requiredVariables"),
    layoutSlug: field(form, "kind") === "Template" ? optionalField(form, "layoutSlug") || null : null,
    texts: textsIn(v, form),
  };
}

/** The sample data as typed; null if the field is empty. @throws Refusal that names the field */
export const sampleIn = (v: Visit, form: FormData): Record<string, unknown> | null =>
  field(form, "sample") === "" ? null : jsonField(form, "sample", notificationTexts[v.locale].dataInvalid);

/** The kinds of templates with their labels. */
export function kindChoices(v: Visit): Choice[] {
  const { template, layout, partial } = templateTexts[v.locale];
  return labelled(TEMPLATE_KINDS, { Template: template, Layout: layout, Partial: partial });
}
