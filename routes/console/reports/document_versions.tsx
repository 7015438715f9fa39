import { buttonLink } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { tabBar } from "../components/tabs.tsx";
import { versionTexts } from "../notifications/template_texts.ts";
import { versionsView } from "../notifications/versions.tsx";
import { action, done } from "../shared/actions.ts";
import { searchOf } from "../shared/api.ts";
import { type ConsolePage, may, type Outcome, type View, type Visit } from "../shared/page.ts";
import { framedDocument } from "./document_editor.tsx";
import { documentTemplateTexts } from "./texts.ts";

const CHANGING = "manage:document-templates";
const READING = { permissions: [CHANGING, "generate:documents"] };

async function versionsPage(v: Visit): Promise<View> {
  const t = documentTemplateTexts[v.locale];
  const { params } = v;
  const [template, versions] = await Promise.all([
    v.api.call("readDocumentTemplate", { params }),
    v.api.call("listDocumentTemplateVersions", { params }),
  ]);
  return await versionsView(v, {
    here: `document-templates/${template.id}`,
    name: template.name,
    list: { href: "document-templates", label: t.title },
    versions,
    compare: (older, newer) =>
      v.api.call("compareDocumentTemplateVersions", {
        params: { ...params, version: String(older) },
        query: { with: String(newer) },
      }),
    labels: {
      name: t.name,
      titleTemplate: t.documentTitle,
      bodyTemplate: t.body,
      requiredVariables: t.required,
      sampleData: t.sample,
      texts: t.texts,
    },
    mayRestore: may(v.viewer, CHANGING),
  });
}

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
    crumbs: [{ href: "document-templates", label: t.title }, { href: list, label: versions }],
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

/** The pages of a document template's versions. */
export const documentVersionPages: ConsolePage[] = [
  { path: "document-templates/{id}/versions", get: versionsPage, ...READING },
  { path: "document-templates/{id}/versions/{version}", get: versionPage, ...READING },
  { path: "document-templates/{id}/versions/{version}/pdf", get: versionPdf, ...READING },
  action(
    "document-templates/{id}/versions/{version}/restore",
    "restoreDocumentTemplateVersion",
    (v, { id, version }) =>
      done(`document-templates/${id}/versions`, versionTexts[v.locale].restored(version)),
    [CHANGING],
  ),
];
