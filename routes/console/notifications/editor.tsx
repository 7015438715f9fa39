import {
  ActionButton,
  ButtonLink,
  CsrfField,
  FormRefusal,
  TextArea,
  TextField,
} from "../components/forms.tsx";
import { Card, Notice } from "../components/notice.tsx";
import { Time } from "../components/values.tsx";
import { action, done } from "../shared/actions.ts";
import { Refusal, searchOf } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { Answer } from "../shared/operations.ts";
import { field, type Outcome, type View, type Visit } from "../shared/page.ts";
import { LivePreview, previewActions, PreviewErrors, type RenderedMessage } from "./live_preview.tsx";
import { jsonField } from "./send_fields.ts";
import { TemplateHelp } from "./template_help.tsx";
import { templateTexts } from "./template_texts.ts";

type Stored = Answer<"readNotificationTemplate">;

/** The form's fields, as typed. */
type Texts = Record<
  | "slug"
  | "locale"
  | "name"
  | "subjectTemplate"
  | "htmlBodyTemplate"
  | "textBodyTemplate"
  | "requiredVariables"
  | "sample",
  string
>;

const NAMES: (keyof Texts)[] = [
  ...["slug", "locale", "name", "subjectTemplate", "htmlBodyTemplate"] as const,
  ...["textBodyTemplate", "requiredVariables", "sample"] as const,
];

const typed = (form: FormData): Texts =>
  Object.fromEntries(NAMES.map((name) => {
    const value = form.get(name);
    return [name, typeof value === "string" ? value.replaceAll("\r\n", "\n") : ""];
  })) as Texts;

const storedTexts = (template: Stored): Texts => ({
  slug: template.slug,
  locale: template.locale,
  name: template.name,
  subjectTemplate: template.subjectTemplate ?? "",
  htmlBodyTemplate: template.htmlBodyTemplate ?? "",
  textBodyTemplate: template.textBodyTemplate ?? "",
  requiredVariables: template.requiredVariables,
  sample: sampleFor(template.requiredVariables),
});

/** Initial sample data: every required variable with its own name as value. */
const sampleFor = (requiredVariables: string): string =>
  JSON.stringify(
    Object.fromEntries(
      requiredVariables.split(",").map((name) => name.trim()).filter(Boolean).map((n) => [n, n]),
    ),
    null,
    2,
  );

const bodyOf = (typedTexts: Texts) => ({
  name: typedTexts.name,
  subjectTemplate: typedTexts.subjectTemplate || null,
  htmlBodyTemplate: typedTexts.htmlBodyTemplate || null,
  textBodyTemplate: typedTexts.textBodyTemplate || null,
  requiredVariables: typedTexts.requiredVariables,
});

/** Whether saving changes this template. In a tenant, saving a built-in template creates a custom version instead. */
const isOwn = (v: Visit, template: Stored): boolean => !template.isShipped || v.viewer.tenant === null;

export const newPage = (v: Visit): View => editorView(v, null, typed(new FormData()), null);

export async function editorPage(v: Visit): Promise<View> {
  const template = await v.api.act("readNotificationTemplate", v);
  return editorView(v, template, storedTexts(template), null);
}

/** Creates a template, or shows the form again with the errors. */
export async function createAction(v: Visit, form: FormData): Promise<Outcome> {
  return await saving(v, form, null, () => create(v, typed(form)));
}

/** Saves a template. Fails with 412 if someone else changed it. A built-in template is copied into the tenant instead. */
export async function saveAction(v: Visit, form: FormData): Promise<Outcome> {
  const template = await v.api.act("readNotificationTemplate", v);
  const typedTexts = typed(form);
  if (!isOwn(v, template)) return await saving(v, form, template, () => create(v, typedTexts));
  return await saving(v, form, template, async () => {
    const body = { templateId: template.id, ...bodyOf(typedTexts) };
    const { version } = await v.api.call("updateNotificationTemplate", {
      params: { id: template.id },
      body,
      ifMatch: `"${field(form, "version")}"`,
    });
    return { goTo: `templates/${template.id}`, flash: templateTexts[v.locale].saved(version) };
  });
}

async function create(v: Visit, typedTexts: Texts) {
  const body = {
    slug: typedTexts.slug.trim(),
    locale: typedTexts.locale.trim() || undefined,
    ...bodyOf(typedTexts),
  };
  const { id } = await v.api.call("createNotificationTemplate", { body });
  return { goTo: `templates/${id}`, flash: templateTexts[v.locale].created };
}

async function saving(
  v: Visit,
  form: FormData,
  template: Stored | null,
  save: () => Promise<{ goTo: string; flash: string }>,
): Promise<Outcome> {
  try {
    const { goTo, flash } = await save();
    return { goTo, flash: { tone: "ok", text: flash } };
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || ![400, 409, 412].includes(refusal.status)) throw refusal;
    return editorView(v, template, typed(form), refusal, field(form, "version"));
  }
}

export const deleteTemplate = action(
  "templates/{id}/delete",
  "deleteNotificationTemplate",
  (v) => done("templates", templateTexts[v.locale].deleted),
);

/** Renders the typed texts with the sample data. */
async function renderForm(v: Visit, form: FormData): Promise<RenderedMessage> {
  const { locale, name: _, ...body } = { locale: field(form, "locale"), ...bodyOf(typed(form)) };
  const data = jsonField(v, form, "sample");
  return await v.api.call("previewNotificationTemplate", {
    body: { ...body, locale: locale || undefined, data },
  });
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

export const templatePreview = previewActions(renderForm, previewErrors);

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

function editorView(
  v: Visit,
  template: Stored | null,
  texts: Texts,
  refusal: Refusal | null,
  version = String(template?.version ?? ""),
): View {
  const t = templateTexts[v.locale];
  const isStored = template !== null && isOwn(v, template);
  return {
    title: template?.name ?? t.newTemplate,
    crumbs: [{ href: "templates", label: t.title }],
    ...refusal ? { status: refusal.status } : {},
    actions: template && (
      <>
        <ButtonLink
          href={`notifications/send${searchOf({ template: template.slug })}`}
          label={t.send}
          icon="notifications"
        />
        {isStored && (
          <ActionButton
            v={v}
            action={`templates/${template.id}/delete`}
            label={commonTexts[v.locale].remove}
            icon="trash"
            tone="danger"
            confirm={t.deleteConfirm(template.slug, template.locale)}
          />
        )}
      </>
    ),
    body: (
      <form class="editor" method="post" action={template ? `templates/${template.id}` : "templates/new"}>
        <CsrfField v={v} />
        <input type="hidden" name="version" value={version} />
        <div class="stack">
          <FormRefusal refusal={refusal} known={NAMES} />
          {template && !isStored && <Notice tone="info">{t.isBuiltin}</Notice>}
          <Card>
            <EditorFields v={v} texts={texts} errors={refusal?.fields ?? {}} isNamed={template !== null} />
            <div class="row">
              <button type="submit" class="button primary">
                {isStored ? commonTexts[v.locale].save : commonTexts[v.locale].create}
              </button>
              {template && (
                <span class="muted">
                  {t.version} {template.version} · {t.changed} <Time v={v} at={template.updatedAt} />
                </span>
              )}
            </div>
          </Card>
        </div>
        <div class="stack">
          <Card title={t.preview}>
            <LivePreview v={v} action="templates/preview" />
            <TextArea
              label={t.sample}
              name="sample"
              code
              rows={6}
              value={texts.sample || "{}"}
              hint={t.sampleHint}
            />
          </Card>
          <Card>
            <TemplateHelp v={v} />
          </Card>
        </div>
      </form>
    ),
  };
}

function EditorFields({ v, texts, errors, isNamed }: {
  v: Visit;
  texts: Texts;
  errors: Record<string, string[]>;
  isNamed: boolean;
}) {
  const t = templateTexts[v.locale];
  const of = (name: keyof Texts) => ({ name, value: texts[name], errors: errors[name] });
  return (
    <>
      {isNamed
        ? (
          <p class="row">
            <input type="hidden" name="slug" value={texts.slug} />
            <input type="hidden" name="locale" value={texts.locale} />
            <code>{texts.slug}</code> · <code>{texts.locale}</code>
          </p>
        )
        : (
          <div class="pair">
            <TextField label={t.slug} {...of("slug")} hint={t.slugHint} maxlength={100} required />
            <TextField
              label={t.locale}
              {...of("locale")}
              hint={t.localeHint}
              maxlength={35}
              placeholder="en"
            />
          </div>
        )}
      <TextField label={t.name} {...of("name")} maxlength={200} required />
      <TextField label={t.subject} {...of("subjectTemplate")} maxlength={1000} />
      <TextArea label={t.html} {...of("htmlBodyTemplate")} rows={14} code />
      <TextArea label={t.text} {...of("textBodyTemplate")} rows={6} code hint={t.textHint} />
      <TextField label={t.required} {...of("requiredVariables")} hint={t.requiredHint} maxlength={2000} />
    </>
  );
}
