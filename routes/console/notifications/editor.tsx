import { actionsOf, done, formPage } from "../shared/actions.ts";
import { Refusal } from "../shared/api.ts";
import { type ConsolePage, field, optionalField, type Visit } from "../shared/page.ts";
import { contentIn, isOwn, newTemplate, readEdited, sampleIn } from "./edited.ts";
import { editorView } from "./editor_form.tsx";
import { PreviewErrors, previewPages } from "./live_preview.tsx";
import { templateTexts } from "./template_texts.ts";

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
  throw refusal.withFields({
    ...others,
    ...locale && { testLocale: locale },
    ...data && { sample: data },
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

function labelsOf(v: Visit): Record<string, string> {
  const t = templateTexts[v.locale];
  return {
    subjectTemplate: t.subject,
    htmlBodyTemplate: t.html,
    textBodyTemplate: t.text,
    requiredVariables: t.required,
    layoutSlug: t.layout,
    texts: t.texts,
    locale: t.locale,
    sample: t.sample,
  };
}

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
