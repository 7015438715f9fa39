import { Fields, formView } from "../components/fields.tsx";
import { buttonLink } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { tabBar } from "../components/tabs.tsx";
import { versionTexts } from "../notifications/template_texts.ts";
import { versionPagesOf } from "../notifications/versions.tsx";
import { done, formPage, type Sent } from "../shared/actions.ts";
import { refusedInput, searchOf } from "../shared/api.ts";
import {
  type ConsolePage,
  field,
  jsonIn,
  may,
  optionalField,
  type Outcome,
  type View,
  type Visit,
} from "../shared/page.ts";
import { crumbsTo } from "../shared/scope.ts";
import { framedDocument } from "./document_editor.tsx";
import { readTargets } from "./model.tsx";
import { atInputs, deliveryFields, readDelivery } from "./request.tsx";
import { documentTemplateTexts } from "./texts.ts";

const CHANGING = "manage:document-templates";
const READING = { permissions: [CHANGING, "generate:documents"] };

/** The document of one version with its sample data, in each of its languages. */
async function versionPage(v: Visit): Promise<View> {
  const t = documentTemplateTexts[v.locale];
  const { versions, versionOf, compare } = versionTexts[v.locale];
  const { params } = v;
  const { version, texts } = await v.api.call("readDocumentTemplateVersion", { params });
  const list = `document-templates/${params.id}/versions`;
  const here = `${list}/${version}`;
  const chosen = v.query.get("language");
  const pdf = `${here}/pdf${searchOf({ language: chosen })}`;
  const languages = Object.keys(texts ?? {});
  return {
    title: versionOf(version),
    crumbs: crumbsTo(v, { href: list, label: versions }),
    actions: buttonLink(`${list}?newer=${version}&older=${version - 1 || 1}`, compare),
    body: (
      <Card>
        <p class="hint">{t.versionNote}</p>
        {languages.length > 0 && tabBar(
          t.languages,
          [null, ...languages].map((language) => ({
            href: `${here}${searchOf({ language })}`,
            label: language ?? t.ownLanguage,
            isCurrent: language === chosen,
          })),
        )}
        <iframe class="preview whole" title={t.preview} src={pdf}></iframe>
        <p>
          <a href={pdf}>{t.openPdf}</a>
        </p>
      </Card>
    ),
  };
}

async function versionPdf(v: Visit): Promise<Outcome> {
  const version = await v.api.call("readDocumentTemplateVersion", { params: v.params });
  const { titleTemplate, bodyTemplate, requiredVariables, locale, texts, sampleData } = version;
  const language = v.query.get("language");
  return await framedDocument(v, () => ({
    titleTemplate,
    bodyTemplate,
    requiredVariables,
    locale,
    texts,
    language,
    data: sampleData,
  }));
}

export const documentVersionPages: ConsolePage[] = [
  ...versionPagesOf({
    kind: "Document",
    list: "document-templates",
    labels({ locale }) {
      const t = documentTemplateTexts[locale];
      return {
        name: t.name,
        titleTemplate: t.documentTitle,
        bodyTemplate: t.body,
        requiredVariables: t.required,
        sampleData: t.sample,
        texts: t.texts,
      };
    },
    mayRestore: ({ viewer }) => may(viewer, CHANGING),
    permissions: { reading: READING.permissions, changing: [CHANGING] },
  }),
  { path: "document-templates/{id}/versions/{version}", get: versionPage, ...READING },
  { path: "document-templates/{id}/versions/{version}/pdf", get: versionPdf, ...READING },
];

interface Item {
  data: Record<string, unknown>;
}

/** The form that generates documents of a document template: one, or one for each item of a JSON array. */
export const documentGeneratePage = formPage({
  path: "document-templates/{id}/generate",
  permissions: ["generate:documents"],
  async show(v, sent) {
    const t = documentTemplateTexts[v.locale];
    const [template, targets] = await Promise.all([
      v.api.call("readDocumentTemplate", { params: v.params }),
      readTargets(v),
    ]);
    const here = `document-templates/${template.id}`;
    const data = JSON.stringify(template.sampleData, null, 2);
    const f = new Fields(v, atInputs(v, atData(v, sent)), "generateDocuments", { data });
    return formView(f, {
      title: t.generate,
      crumbs: crumbsTo(v, { href: here, label: template.name }),
      submit: t.generate,
      intro: t.generateIntro,
      inputs: [
        f.area("data", t.data, { required: true, code: true, rows: 14, hint: t.dataHint }),
        f.text("language", t.language, { hint: t.localeHint }),
        deliveryFields(f, targets),
      ],
    });
  },
  async send(v, form) {
    const language = optionalField(form, "language");
    const body = { ...dataOf(v, field(form, "data")), language, delivery: readDelivery(form) };
    const { id, burstId } = await v.api.call("generateDocuments", { params: v.params, body });
    return burstId
      ? done(`report-runs?burstId=${burstId}`, documentTemplateTexts[v.locale].documentsQueued)
      : done(`report-runs/${id}`, documentTemplateTexts[v.locale].documentQueued);
  },
});

/** An object is the data of one document. An array has an item for each document; the API checks the items. */
function dataOf(v: Visit, text: string): { data: Record<string, unknown> } | { items: Item[] } {
  const value = jsonIn(text);
  if (Array.isArray(value)) return { items: value };
  if (value && typeof value === "object") return { data: { ...value } };
  throw refusedInput("data", documentTemplateTexts[v.locale].dataInvalid);
}

/** A sent form, with the API's messages about `data.number` and `items.0.recipients` at the input of the data. */
function atData(v: Visit, sent: Sent | null): Sent | null {
  if (!sent?.refusal) return sent;
  const fields: Record<string, string[]> = {};
  for (const [name, messages] of Object.entries(sent.refusal.fields)) {
    const [found, index, inner] = /^(?:data|items(?:\.(\d+))?)(?:\.(.+))?$/s.exec(name) ?? [];
    const isData = found !== undefined;
    const item = index === undefined ? null : documentTemplateTexts[v.locale].item(Number(index) + 1);
    const place = [item, inner].filter(Boolean).join(", ");
    const shown = isData && place ? messages.map((message) => `${place}: ${message}`) : messages;
    (fields[isData ? "data" : name] ??= []).push(...shown);
  }
  return { ...sent, refusal: sent.refusal.withFields(fields) };
}
