import { Fields, formView } from "../components/fields.tsx";
import { done, formPage, type Sent } from "../shared/actions.ts";
import { refusedInput } from "../shared/api.ts";
import { jsonIn } from "../shared/json.ts";
import { field, optionalField, type Visit } from "../shared/page.ts";
import { documentTemplateTexts } from "./texts.ts";
import { readTargets } from "./model.tsx";
import { atInputs, deliveryFields, readDelivery } from "./request.tsx";

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
      crumbs: [{ href: "document-templates", label: t.title }, { href: here, label: template.name }],
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
