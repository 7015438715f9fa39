import { action, done } from "../shared/actions.ts";
import type { ConsolePage, View, Visit } from "../shared/page.ts";
import { isOwn } from "./edited.ts";
import { templateTexts } from "./template_texts.ts";
import { versionBody, versionPage } from "./version.tsx";
import { versionTexts } from "./version_texts.ts";
import { versionsView } from "./versions_view.tsx";

async function versionsPage(v: Visit): Promise<View> {
  const t = templateTexts[v.locale];
  const { params } = v;
  const [template, versions] = await Promise.all([
    v.api.call("readNotificationTemplate", { params }),
    v.api.call("listNotificationTemplateVersions", { params }),
  ]);
  return await versionsView(v, {
    here: `templates/${template.id}`,
    name: template.name,
    list: { href: "templates", label: t.title },
    versions,
    compare: (older, newer) =>
      v.api.call("compareNotificationTemplateVersions", {
        params: { ...params, version: String(older) },
        query: { with: String(newer) },
      }),
    labels: {
      name: t.name,
      subjectTemplate: t.subject,
      htmlBodyTemplate: t.html,
      textBodyTemplate: t.text,
      requiredVariables: t.required,
      layoutSlug: t.layout,
      texts: t.texts,
    },
    mayRestore: isOwn(v, template),
  });
}

/** The pages of a template's versions. */
export const versionPages: ConsolePage[] = [
  { path: "templates/{id}/versions", get: versionsPage },
  { path: "templates/{id}/versions/{version}", get: versionPage },
  { path: "templates/{id}/versions/{version}/body", get: versionBody },
  action(
    "templates/{id}/versions/{version}/restore",
    "restoreNotificationTemplateVersion",
    (v, { version }) => done(`templates/${v.params.id}/versions`, versionTexts[v.locale].restored(version)),
  ),
];
