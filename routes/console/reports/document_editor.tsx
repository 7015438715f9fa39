import { Fields } from "../components/fields.tsx";
import { buttonLink, CsrfField, deleteButton, FormRefusal } from "../components/forms.tsx";
import { actionsOf, done, formPage, sendTo, type Sent } from "../shared/actions.ts";
import { actionsColumn, linkColumn, listView, search, timeColumn } from "../components/list.tsx";
import { Card, Notice } from "../components/notice.tsx";
import { Time } from "../components/values.tsx";
import { framedHtml } from "../notifications/live_preview.tsx";
import { jsonField } from "../notifications/send.tsx";
import { textRows, textsIn } from "../notifications/text_rows.tsx";
import { Refusal, searchOf } from "../shared/api.ts";
import type { Answer, Input } from "../shared/operations.ts";
import {
  type ConsolePage,
  field,
  fieldsIn,
  may,
  optionalField,
  type Outcome,
  typedText,
  type View,
  type Visit,
} from "../shared/page.ts";
import { documentTemplateTexts } from "./texts.ts";

type Template = Answer<"readDocumentTemplate">;
type Sample = Answer<"listDocumentTemplateSamples">[number];

const READING = ["manage:document-templates", "generate:documents"];
const FRAME = "document-preview";
const CHANGING = ["manage:document-templates"];

const newPage = formPage({
  path: "document-templates/new",
  permissions: CHANGING,
  async show(v, sent) {
    const samples = await v.api.call("listDocumentTemplateSamples");
    const chosen = samples.find((sample) => idOf(sample) === v.query.get("sample")) ?? null;
    return editorView(v, sent, { template: null, etag: "", chosen, samples });
  },
  send: sendTo(
    "createDocumentTemplate",
    (form, v) => ({
      ...fieldsIn(form, "slug", "name"),
      locale: optionalField(form, "locale"),
      ...contentIn(v, form),
    }),
    (v, { id }) => done(`document-templates/${id}`, documentTemplateTexts[v.locale].created),
  ),
});

const editorPage = formPage({
  path: "document-templates/{id}",
  permissions: READING,
  async show(v, sent) {
    const { params } = v;
    const { value, etag } = await v.api.versioned("readDocumentTemplate", { params });
    return editorView(v, sent, { template: value, etag, chosen: null, samples: [] });
  },
  send: sendTo(
    "updateDocumentTemplate",
    (form, v) => ({ name: field(form, "name"), ...contentIn(v, form) }),
    (v, { id, version }) => done(`document-templates/${id}`, documentTemplateTexts[v.locale].saved(version)),
  ),
});

const idOf = ({ slug, locale }: Sample): string => `${slug}-${locale}`;

const languagesOf = ({ locale, texts }: Sample): string =>
  [...new Set([locale, ...Object.keys(texts ?? {})])].join(", ");

const contentIn = (v: Visit, form: FormData) => ({
  titleTemplate: typedText(form, "titleTemplate"),
  bodyTemplate: typedText(form, "bodyTemplate"),
  requiredVariables: typedText(form, "requiredVariables"),
  sampleData: jsonField(form, "sampleData", documentTemplateTexts[v.locale].sampleInvalid),
  texts: textsIn(v, form),
});

/** Draws what is typed, with the sample data. */
const preview = (v: Visit, form: FormData): Promise<Outcome> =>
  framedDocument(v, () => {
    const { sampleData, ...templates } = contentIn(v, form);
    const language = optionalField(form, "previewLanguage");
    return { ...templates, locale: optionalField(form, "locale"), language, data: sampleData };
  });

interface Edited {
  template: Template | null;
  etag: string;
  /** The sample that a new template begins with. */
  chosen: Sample | null;
  samples: Sample[];
}

function editorView(
  v: Visit,
  sent: Sent | null,
  { template, etag, chosen, samples }: Edited,
): View {
  const t = documentTemplateTexts[v.locale];
  const source = template ?? chosen;
  const sampleData = source ? JSON.stringify(source.sampleData, null, 2) : "";
  const f = new Fields(v, sent, "createDocumentTemplate", { ...source, sampleData, etag });
  const mayChange = may(v.viewer, "manage:document-templates");
  return {
    title: template?.name ?? t.newTemplate,
    actions: template && [
      may(v.viewer, "generate:documents") &&
      buttonLink(`document-templates/${template.id}/generate`, t.generate, { icon: "play" }),
      mayChange &&
      deleteButton(
        v,
        `document-templates/${template.id}/delete`,
        t.deleteConfirm(template.slug, template.locale),
      ),
    ],
    body: [
      samples.length > 0 && (
        <Card title={t.samples}>
          <div class="row">
            {samples.map((sample) =>
              buttonLink(
                `document-templates/new${searchOf({ sample: idOf(sample) })}`,
                `${sample.name} (${languagesOf(sample)})`,
              )
            )}
          </div>
        </Card>
      ),
      <form
        class="editor"
        method="post"
        action={template ? `document-templates/${template.id}` : "document-templates/new"}
      >
        <CsrfField v={v} />
        <input type="hidden" name="etag" value={f.etag()} />
        <div class="stack">
          <FormRefusal v={v} refusal={sent?.refusal ?? null} known={["texts", ...f.known]} />
          <Card>
            {template
              ? (
                <p class="row">
                  <input type="hidden" name="slug" value={template.slug} />
                  <input type="hidden" name="locale" value={template.locale} />
                  <code>{template.slug}</code> · <code>{template.locale}</code>
                </p>
              )
              : (
                <div class="pair">
                  {f.text("slug", t.slug, { hint: t.slugHint, maxlength: 63 })}
                  {f.text("locale", t.locale, { hint: t.languageHint, placeholder: "en" })}
                </div>
              )}
            {f.text("name", t.name)}
            {f.text("titleTemplate", t.documentTitle, { hint: t.documentTitleHint })}
            {f.area("bodyTemplate", t.body, { rows: 22, code: true, hint: t.bodyHint })}
            {f.text("requiredVariables", t.required, { hint: t.requiredHint })}
            {textRows(f, source?.texts, t.textsHint)}
            <div class="row">
              {mayChange && (
                <button type="submit" class="button primary">{template ? t.save : t.create}</button>
              )}
              {template && (
                <span class="muted">
                  <a href={`document-templates/${template.id}/versions`}>{t.version} {template.version}</a> ·
                  {" "}
                  {t.changed} <Time v={v} at={template.updatedAt} />
                </span>
              )}
            </div>
          </Card>
        </div>
        <div class="stack">
          <Card title={t.preview}>
            <p class="muted">{t.previewText}</p>
            {f.text("previewLanguage", t.previewLanguage, { hint: t.localeHint, maxlength: 35 })}
            <button
              type="submit"
              class="button"
              formaction="document-templates/preview"
              formtarget={FRAME}
              formnovalidate
            >
              {t.preview}
            </button>
            <iframe class="preview" title={t.preview} name={FRAME}></iframe>
            {f.area("sampleData", t.sample, { code: true, rows: 10, hint: t.sampleHint })}
          </Card>
        </div>
      </form>,
    ],
  };
}

/** The pages that create, change, preview and delete a document template. */
export const documentEditorPages: ConsolePage[] = [
  newPage,
  { path: "document-templates/preview", permissions: READING, post: preview },
  editorPage,
  ...actionsOf("document-templates/{id}", documentTemplateTexts, {
    delete: ["deleteDocumentTemplate", "deleted", "document-templates"],
  }, CHANGING),
];

/** The tenant's document templates, by slug and locale. */
export async function documentTemplatesPage(v: Visit): Promise<View> {
  const t = documentTemplateTexts[v.locale];
  return await listView(v, "listDocumentTemplates", {
    title: t.title,
    actions: may(v.viewer, "manage:document-templates") &&
      buttonLink("document-templates/new", t.newTemplate, { icon: "plus", tone: "primary" }),
    caption: t.caption,
    empty: [t.empty, t.emptyText],
    filters: [search(t.search)],
    columns: [
      linkColumn(t.name, ({ id, name }) => [`document-templates/${id}`, name], {
        below: [[t.slug, ({ slug }) => <code>{slug}</code>]],
      }),
      { head: t.locale, cell: ({ locale }) => <code>{locale}</code> },
      { head: t.version, align: "end", cell: ({ version }) => version },
      timeColumn(v, t.changed, "updatedAt"),
      actionsColumn(
        v,
        ({ id }) =>
          may(v.viewer, "generate:documents") &&
          buttonLink(`document-templates/${id}/generate`, t.generate, { icon: "play" }),
      ),
    ],
  });
}

type Preview = Input<"previewDocumentTemplate">["body"];

/** Draws a document template for a frame. A refusal is shown in the frame. @param bodyOf may refuse what was typed */
export async function framedDocument(v: Visit, bodyOf: () => Preview): Promise<Outcome> {
  try {
    const answer = await v.api.answer("previewDocumentTemplate", { body: bodyOf() });
    return new Response(answer.body, {
      headers: {
        "content-type": "application/pdf",
        "content-disposition": "inline",
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'",
        "cache-control": "no-store",
      },
    });
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.status >= 500) throw refusal;
    const messages = Object.entries(refusal.fields).flatMap(([name, texts]) =>
      texts.map((text) => `${name}: ${text}`)
    );
    const shown = (
      <Notice tone="bad" title={refusal.text}>
        <ul>{messages.map((message) => <li>{message}</li>)}</ul>
      </Notice>
    );
    return framedHtml(String(await shown));
  }
}
