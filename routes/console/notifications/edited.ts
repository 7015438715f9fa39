import { TEMPLATE_KINDS } from "../../../domain/templates/read.ts";
import { labelled } from "../components/list.tsx";
import type { Choice } from "../components/forms.tsx";
import { orNull, Refusal } from "../shared/api.ts";
import type { Answer } from "../shared/operations.ts";
import { field, optionalField, type Visit } from "../shared/page.ts";
import { jsonField } from "./send_fields.ts";
import { templateTexts } from "./template_texts.ts";
import { textsIn } from "./text_rows.tsx";
import { notificationTexts } from "./texts.ts";

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
export const isOwn = (v: Visit, template: Template): boolean =>
  !template.isShipped || v.viewer.tenant === null;

/** Bodies, layout and texts as typed. Browsers send a line break as CRLF. */
export function contentIn(v: Visit, form: FormData) {
  const typed = (name: string) => String(form.get(name) ?? "").replaceAll("\r\n", "\n");
  return {
    subjectTemplate: typed("subjectTemplate") || null,
    htmlBodyTemplate: typed("htmlBodyTemplate") || null,
    textBodyTemplate: typed("textBodyTemplate") || null,
    requiredVariables: typed("requiredVariables"),
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
