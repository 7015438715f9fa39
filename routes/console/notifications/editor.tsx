import { Fields } from "../components/fields.tsx";
import { ButtonLink, CsrfField, DeleteButton, FormRefusal } from "../components/forms.tsx";
import { Card, Notice } from "../components/notice.tsx";
import { Time } from "../components/values.tsx";
import { action, done, formPage, type Sent } from "../shared/actions.ts";
import { type Refusal, searchOf } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { Answer } from "../shared/operations.ts";
import { type ConsolePage, field, optionalField, type View, type Visit } from "../shared/page.ts";
import { LivePreview, previewActions, PreviewErrors } from "./live_preview.tsx";
import { jsonField } from "./send_fields.ts";
import { TemplateHelp } from "./template_help.tsx";
import { templateTexts } from "./template_texts.ts";

type Template = Answer<"readNotificationTemplate">;

const newPage = formPage({
  path: "templates/new",
  show: (v, sent) => editorView(v, sent, null, ""),
  send: create,
});

/** Changes a template. In a tenant, saving a built-in template creates a custom version instead. */
const editorPage = formPage({
  path: "templates/{id}",
  async show(v, sent) {
    const { value, etag } = await v.api.versioned("readNotificationTemplate", { params: v.params });
    return editorView(v, sent, value, etag);
  },
  async send(v, form) {
    const { params } = v;
    const template = await v.api.call("readNotificationTemplate", { params });
    if (!isOwn(v, template)) return await create(v, form);
    const { version } = await v.api.call("updateNotificationTemplate", {
      params,
      body: { templateId: template.id, name: field(form, "name"), ...textsOf(form) },
      ifMatch: field(form, "etag"),
    });
    return done(`templates/${template.id}`, templateTexts[v.locale].saved(version));
  },
});

/** Whether saving changes this template, and does not create a custom version. */
const isOwn = (v: Visit, template: Template): boolean => !template.isShipped || v.viewer.tenant === null;

async function create(v: Visit, form: FormData) {
  const { id } = await v.api.call("createNotificationTemplate", {
    body: {
      slug: field(form, "slug"),
      locale: optionalField(form, "locale"),
      name: field(form, "name"),
      ...textsOf(form),
    },
  });
  return done(`templates/${id}`, templateTexts[v.locale].created);
}

/** The texts as typed. Browsers send a line break as CRLF. */
function textsOf(form: FormData) {
  const typed = (name: string) => String(form.get(name) ?? "").replaceAll("\r\n", "\n");
  return {
    subjectTemplate: typed("subjectTemplate") || null,
    htmlBodyTemplate: typed("htmlBodyTemplate") || null,
    textBodyTemplate: typed("textBodyTemplate") || null,
    requiredVariables: typed("requiredVariables"),
  };
}

/** Initial sample data: every required variable with its own name as value. */
function sampleFor(requiredVariables: string): string {
  const names = requiredVariables.split(",").map((name) => name.trim()).filter(Boolean);
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, name])), null, 2);
}

/** The preview's errors by field label. An error with a position links to it. */
function previewErrors(v: Visit, refusal: Refusal) {
  const labels = labelsOf(v);
  return (
    <PreviewErrors
      refusal={refusal}
      describe={(name, message) => {
        const [, line, column] = /^line (\d+), column (\d+)/.exec(message) ?? [];
        return (
          <>
            {line
              ? (
                <a href={`${v.address}#f-${name}`} data-caret={`f-${name} ${line} ${column}`}>
                  {labels[name] ?? name}
                </a>
              )
              : labels[name] ?? <code>{name}</code>}
            {`: ${message}`}
          </>
        );
      }}
    />
  );
}

/** The preview renders the typed texts with the sample data. */
const preview = previewActions(
  async (v, form) =>
    await v.api.call("previewNotificationTemplate", {
      body: {
        locale: optionalField(form, "locale"),
        ...textsOf(form),
        data: jsonField(v, form, "sample"),
      },
    }),
  previewErrors,
);

function labelsOf(v: Visit): Record<string, string> {
  const t = templateTexts[v.locale];
  return {
    subjectTemplate: t.subject,
    htmlBodyTemplate: t.html,
    textBodyTemplate: t.text,
    requiredVariables: t.required,
    locale: t.locale,
    sample: t.sample,
  };
}

function editorView(v: Visit, sent: Sent | null, template: Template | null, etag: string): View {
  const t = templateTexts[v.locale];
  const { save, create } = commonTexts[v.locale];
  const isStored = template !== null && isOwn(v, template);
  const sample = sampleFor(template?.requiredVariables ?? "");
  const f = new Fields(v, sent, "createNotificationTemplate", { ...template, sample, etag });
  return {
    title: template?.name ?? t.newTemplate,
    crumbs: [{ href: "templates", label: t.title }],
    actions: template && (
      <>
        <ButtonLink
          href={`notifications/send${searchOf({ template: template.slug })}`}
          label={t.send}
          icon="notifications"
        />
        {isStored && (
          <DeleteButton
            v={v}
            action={`templates/${template.id}/delete`}
            confirm={t.deleteConfirm(template.slug, template.locale)}
          />
        )}
      </>
    ),
    body: (
      <form class="editor" method="post" action={template ? `templates/${template.id}` : "templates/new"}>
        <CsrfField v={v} />
        <input type="hidden" name="etag" value={f.etag()} />
        <div class="stack">
          <FormRefusal refusal={sent?.refusal ?? null} known={f.known} />
          {template && !isStored && <Notice tone="info">{t.isBuiltin}</Notice>}
          <Card>
            {template ? fixedName(template) : (
              <div class="pair">
                {f.text("slug", t.slug, { hint: t.slugHint, maxlength: 100 })}
                {f.text("locale", t.locale, { hint: t.localeHint, placeholder: "en" })}
              </div>
            )}
            {f.text("name", t.name)}
            {f.text("subjectTemplate", t.subject)}
            {f.area("htmlBodyTemplate", t.html, { rows: 14, code: true })}
            {f.area("textBodyTemplate", t.text, { rows: 6, code: true, hint: t.textHint })}
            {f.text("requiredVariables", t.required, { hint: t.requiredHint })}
            <div class="row">
              <button type="submit" class="button primary">{isStored ? save : create}</button>
              {template && (
                <span class="muted">
                  <a href={`templates/${template.id}/versions`}>{t.version} {template.version}</a> ·{" "}
                  {t.changed} <Time v={v} at={template.updatedAt} />
                </span>
              )}
            </div>
          </Card>
        </div>
        <div class="stack">
          <Card title={t.preview}>
            <LivePreview v={v} action="templates/preview" />
            {f.area("sample", t.sample, { code: true, rows: 6, hint: t.sampleHint })}
          </Card>
          <Card>
            <TemplateHelp v={v} />
          </Card>
        </div>
      </form>
    ),
  };
}

/** Slug and locale of a saved template, which do not change. */
const fixedName = ({ slug, locale }: Template) => (
  <p class="row">
    <input type="hidden" name="slug" value={slug} />
    <input type="hidden" name="locale" value={locale} />
    <code>{slug}</code> · <code>{locale}</code>
  </p>
);

/** The pages that create, change, preview and delete a template. */
export const editorPages: ConsolePage[] = [
  newPage,
  { path: "templates/preview", post: preview.text },
  { path: "templates/preview/body", post: preview.body },
  editorPage,
  action(
    "templates/{id}/delete",
    "deleteNotificationTemplate",
    (v) => done("templates", templateTexts[v.locale].deleted),
  ),
];
