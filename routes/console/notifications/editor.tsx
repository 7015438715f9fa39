import { Fields } from "../components/fields.tsx";
import { buttonLink, CsrfField, deleteButton, FormRefusal } from "../components/forms.tsx";
import { Card, Notice } from "../components/notice.tsx";
import { Badge, Time } from "../components/values.tsx";
import { actionsOf, done, formPage, type Sent } from "../shared/actions.ts";
import { Refusal, searchOf } from "../shared/api.ts";
import { type ConsolePage, field, may, optionalField, type View, type Visit } from "../shared/page.ts";
import {
  contentIn,
  type Edited,
  isOwn,
  kindChoices,
  newTemplate,
  readEdited,
  sampleIn,
  type Template,
  templateLabels,
  type Uses,
} from "./templates.tsx";
import { LivePreview, PreviewErrors, previewPages } from "./live_preview.tsx";
import { TemplateHelp } from "./template_help.tsx";
import { templateTexts } from "./template_texts.ts";
import { textRows } from "./text_rows.tsx";

const newPage = formPage({
  path: "templates/new",
  show: async (v, sent) => editorView(v, sent, await newTemplate(v)),
  send: create,
});

/** Changes a template. In a tenant, saving a built-in template creates a custom version instead. */
const editorPage = formPage({
  path: "templates/{id}",
  show: async (v, sent) => editorView(v, sent, await readEdited(v)),
  async send(v, form) {
    const { params } = v;
    const template = await v.api.call("readNotificationTemplate", { params });
    if (!isOwn(v, template)) return await create(v, form);
    const { version } = await v.api.call("updateNotificationTemplate", {
      params,
      body: { templateId: template.id, name: field(form, "name"), ...contentIn(v, form) },
      ifMatch: field(form, "etag"),
    });
    return done(`templates/${template.id}`, templateTexts[v.locale].saved(version));
  },
});

async function create(v: Visit, form: FormData) {
  const { id } = await v.api.call("createNotificationTemplate", {
    body: {
      slug: field(form, "slug"),
      locale: optionalField(form, "locale"),
      name: field(form, "name"),
      kind: optionalField(form, "kind"),
      ...contentIn(v, form),
    },
  });
  return done(`templates/${id}`, templateTexts[v.locale].created);
}

/** Mails the saved template to the viewer. The form stays as typed. */
const testPage = formPage({
  path: "templates/{id}/test",
  show: async (v, sent) => editorView(v, sent, await readEdited(v)),
  async send(v, form) {
    const edited = await readEdited(v);
    const body = { data: sampleIn(v, form), locale: optionalField(form, "testLocale") };
    await v.api.call("sendTemplateTest", { params: v.params, body }).catch(atItsInputs);
    const note = templateTexts[v.locale].testSent(edited.template?.version ?? 0);
    return editorView(v, { form, refusal: null }, edited, note);
  },
});

/** Shows errors of the API's members at the inputs of the test. */
function atItsInputs(refusal: unknown): never {
  if (!(refusal instanceof Refusal)) throw refusal;
  const { locale, data, ...others } = refusal.fields;
  throw refusal.withFields({ ...others, ...locale && { testLocale: locale }, ...data && { sample: data } });
}

/** The preview's errors by field label. An error with a position links to it. */
function previewErrors(v: Visit, refusal: Refusal) {
  const { locale, sample } = templateTexts[v.locale];
  const labels: Record<string, string> = { ...templateLabels(v), locale, sample };
  return (
    <PreviewErrors
      refusal={refusal}
      describe={(name, message) => {
        const [, line, column] = /^line (\d+), column (\d+)/.exec(message) ?? [];
        return [
          line
            ? (
              <a href={`${v.address}#f-${name}`} data-caret={`f-${name} ${line} ${column}`}>
                {labels[name] ?? name}
              </a>
            )
            : labels[name] ?? <code>{name}</code>,
          `: ${message}`,
        ];
      }}
    />
  );
}

/** The preview renders the typed texts with the sample data. */
const preview = previewPages(
  "templates/preview",
  async (v, form) => {
    const data = sampleIn(v, form);
    const rendered = await v.api.call("previewNotificationTemplate", {
      body: {
        locale: optionalField(form, "locale"),
        kind: optionalField(form, "kind"),
        ...contentIn(v, form),
        data,
        useSampleData: true,
      },
    });
    return { ...rendered, sample: data === null ? rendered.data : undefined };
  },
  previewErrors,
);

/** The pages that create, change, preview, test and delete a template. */
export const editorPages: ConsolePage[] = [
  newPage,
  ...preview,
  editorPage,
  testPage,
  ...actionsOf("templates/{id}", templateTexts, {
    delete: ["deleteNotificationTemplate", "deleted", "templates"],
  }),
];

/** The editor of a template. `note` is the result of an action that kept the form as typed. */
function editorView(v: Visit, sent: Sent | null, edited: Edited, note?: string): View {
  const t = templateTexts[v.locale];
  const { template, etag, sample, uses } = edited;
  const isStored = template !== null && isOwn(v, template);
  const values = { kind: "Template", ...template, sample, etag };
  const f = new Fields(v, sent, "createNotificationTemplate", values);
  return {
    title: template?.name ?? t.newTemplate,
    actions: template && [
      template.kind === "Template" &&
      buttonLink(`notifications/send${searchOf({ template: template.slug })}`, t.send, {
        icon: "notifications",
      }),
      isStored &&
      deleteButton(v, `templates/${template.id}/delete`, t.deleteConfirm(template.slug, template.locale)),
    ],
    body: (
      <form class="editor" method="post" action={template ? `templates/${template.id}` : "templates/new"}>
        <CsrfField v={v} />
        <input type="hidden" name="etag" value={f.etag()} />
        <div class="stack">
          {note && (
            <div data-flash tabindex={-1}>
              <Notice tone="ok" title={note}>{t.testOfSaved}</Notice>
            </div>
          )}
          <FormRefusal
            v={v}
            refusal={sent?.refusal ?? null}
            known={["texts", "testLocale", "sample", "layoutSlug", ...f.known]}
          />
          {template && !isStored && <Notice tone="info">{t.isBuiltin}</Notice>}
          {uses && <BrokenUses v={v} uses={uses} />}
          {contentCard(f, edited, isStored)}
          {uses && <TemplateUses v={v} uses={uses} />}
        </div>
        <div class="stack">
          <Card title={t.preview}>
            <LivePreview v={v} action="templates/preview" />
            {f.area("sample", t.sample, { code: true, rows: 6, hint: t.sampleHint })}
            {template?.kind === "Template" && testFields(f, template)}
          </Card>
          <Card>
            <TemplateHelp v={v} />
          </Card>
        </div>
      </form>
    ),
  };
}

function contentCard(f: Fields, { template, layouts }: Edited, isStored: boolean) {
  const { v } = f;
  const t = templateTexts[v.locale];
  const isTemplate = f.value("kind") === "Template";
  return (
    <Card>
      {template ? fixedName(v, template) : [
        <div class="pair">
          {f.text("slug", t.slug, { hint: t.slugHint, maxlength: 100 })}
          {f.text("locale", t.locale, { hint: t.localeHint, placeholder: "en" })}
        </div>,
        f.select("kind", t.kind, kindChoices(v), { hint: t.kindHint }),
      ]}
      {f.text("name", t.name)}
      {(isTemplate || !template) && (
        <div data-kinds="Template">
          {f.select("layoutSlug", t.layout, layouts.map((slug) => ({ value: slug, label: slug })), {
            any: t.defaultLayout,
            hint: t.layoutHint,
          })}
        </div>
      )}
      {f.text("subjectTemplate", t.subject)}
      {f.area("htmlBodyTemplate", t.htmlBody, { rows: 14, code: true })}
      {f.area("textBodyTemplate", t.textBody, { rows: 6, code: true, hint: t.textHint })}
      {f.text("requiredVariables", t.required, { hint: t.requiredHint })}
      {textRows(f, template?.texts, t.textsHint)}
      <div class="row">
        <button type="submit" class="button primary">{isStored ? t.save : t.create}</button>
        {template && (
          <span class="muted">
            <a href={`templates/${template.id}/versions`}>{t.version} {template.version}</a> · {t.changed}
            {" "}
            <Time v={v} at={template.updatedAt} />
          </span>
        )}
      </div>
    </Card>
  );
}

/** Slug, locale and kind of a saved template, which do not change. */
const fixedName = (v: Visit, { slug, locale, kind }: Template) => (
  <p class="row">
    <input type="hidden" name="slug" value={slug} />
    <input type="hidden" name="locale" value={locale} />
    <input type="hidden" name="kind" value={kind} />
    <code>{slug}</code> · <code>{locale}</code> · {kindChoices(v).find(({ value }) => value === kind)?.label}
  </p>
);

/** Mails the saved template to the viewer. */
function testFields(f: Fields, { id }: Template) {
  const t = templateTexts[f.v.locale];
  return (
    <fieldset>
      <legend>{t.sendTest}</legend>
      {f.text("testLocale", t.testLocale, { maxlength: 35, hint: t.testHint })}
      <div>
        <button type="submit" class="button" formaction={`templates/${id}/test`} formnovalidate>
          {t.sendTest}
        </button>
      </div>
    </fieldset>
  );
}

/** Says above the form how many templates a layout or partial breaks. */
function BrokenUses({ v, uses }: { v: Visit; uses: Uses }) {
  const t = templateTexts[v.locale];
  const countBroken = (of: { error: string | null }[]) => of.filter(({ error }) => error !== null).length;
  const [messages, documents] = [countBroken(uses.templates), countBroken(uses.documents)];
  return (
    <>
      {messages > 0 && <Notice tone="bad" title={t.broken(messages)} />}
      {documents > 0 && <Notice tone="bad" title={t.brokenDocuments(documents)} />}
    </>
  );
}

/** The templates that use a layout or partial, and why it breaks some. */
function TemplateUses({ v, uses: { templates, documents } }: { v: Visit; uses: Uses }) {
  const t = templateTexts[v.locale];
  const mayOpen = may(v.viewer, "manage:document-templates") || may(v.viewer, "generate:documents");
  return (
    <Card title={t.usedBy}>
      {templates.length + documents.length === 0 ? <p class="muted">{t.unused}</p> : (
        <ul class="stack">
          {templates.map((use) => <TemplateUse v={v} use={use} href={`templates/${use.id}`} />)}
          {documents.map((use) => (
            <TemplateUse
              v={v}
              use={use}
              href={mayOpen ? `document-templates/${use.id}` : null}
              note={t.documentTemplate}
            />
          ))}
        </ul>
      )}
    </Card>
  );
}

function TemplateUse({ v, use: { name, slug, locale, error }, href, note }: {
  v: Visit;
  use: Uses["documents"][number];
  /** Null: the viewer may not open it. */
  href: string | null;
  note?: string;
}) {
  const t = templateTexts[v.locale];
  return (
    <li>
      {href === null ? name : <a href={href}>{name}</a>} <code>{slug}</code> · <code>{locale}</code>
      {note && ` · ${note}`}{" "}
      {error === null ? <Badge tone="ok">{t.renders}</Badge> : <Badge tone="bad">{t.doesNotRender}</Badge>}
      {error && <div class="hint" lang="en">{error}</div>}
    </li>
  );
}
