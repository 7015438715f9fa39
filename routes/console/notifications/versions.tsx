import { action, done } from "../shared/actions.ts";
import type { ConsolePage, Outcome, View, Visit } from "../shared/page.ts";
import { isOwn } from "./edited.ts";
import { templateTexts } from "./template_texts.ts";
import { versionTexts } from "./version_texts.ts";
import { versionsView } from "./versions_view.tsx";
import { buttonLink } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { tabBar } from "../components/tabs.tsx";
import { CodeBlock, factList } from "../components/values.tsx";
import { framedHtml, PreviewErrors, withLogo } from "./live_preview.tsx";
import { Refusal } from "../shared/api.ts";
import type { Answer } from "../shared/operations.ts";
import { notificationTexts } from "./texts.ts";

type Version = Answer<"readNotificationTemplateVersion">;

/** One version as its recipients would see it: on a phone and on a desktop, in light or dark colours. */
async function versionPage(v: Visit): Promise<View> {
  const t = versionTexts[v.locale];
  const { params } = v;
  const version = await v.api.call("readNotificationTemplateVersion", { params });
  const rendered = await render(v, version).catch((refusal) => {
    if (refusal instanceof Refusal && refusal.status < 500) return refusal;
    throw refusal;
  });
  const list = `templates/${params.id}/versions`;
  const here = `${list}/${params.version}`;
  const isDark = v.query.get("colours") === "dark";
  const body = `${here}/body?colours=${isDark ? "dark" : "light"}`;
  return {
    title: t.versionOf(version.version),
    crumbs: [
      { href: "templates", label: templateTexts[v.locale].title },
      { href: list, label: t.versions },
    ],
    actions: buttonLink(`${list}?newer=${version.version}&older=${version.version - 1 || 1}`, t.compare),
    body: rendered instanceof Refusal ? <PreviewErrors refusal={rendered} /> : (
      <Card>
        {factList([[notificationTexts[v.locale].subject, rendered.subject]])}
        <p class="hint">{t.sampleNote}</p>
        {rendered.htmlBody === null ? <p class="muted">{t.noHtml}</p> : (
          <>
            {tabBar(t.colours, [
              { href: here, label: t.light, isCurrent: !isDark },
              { href: `${here}?colours=dark`, label: t.dark, isCurrent: isDark },
            ])}
            <div class="devices">
              <Device label={t.phone} width="phone" src={body} isDark={isDark} />
              <Device label={t.desktop} width="desktop" src={body} isDark={isDark} />
            </div>
          </>
        )}
        {rendered.textBody && (
          <details open={rendered.htmlBody === null}>
            <summary>{notificationTexts[v.locale].previewText}</summary>
            <CodeBlock label={notificationTexts[v.locale].textBody}>{rendered.textBody}</CodeBlock>
          </details>
        )}
      </Card>
    ),
  };
}

/** An iframe as wide as a device. */
const Device = (
  { label, width, src, isDark }: { label: string; width: string; src: string; isDark: boolean },
) => (
  <figure class={`device ${width}`}>
    <figcaption>{label}</figcaption>
    <iframe class={`preview ${isDark ? "dark" : "light"}`} title={label} sandbox="" src={src}></iframe>
  </figure>
);

/** The HTML of a version in the colours of the address, for the iframes. */
async function versionBody(v: Visit): Promise<Outcome> {
  const version = await v.api.call("readNotificationTemplateVersion", { params: v.params });
  const { documentHtml } = await render(v, version);
  const html = await withLogo(v, documentHtml ?? "");
  return framedHtml(inColours(html, v.query.get("colours") === "dark" ? "dark" : "light"));
}

/**
 * The document as a reader with this colour scheme sees it. A frame cannot choose a scheme: the browser takes the one of
 * the system. So the conditions are replaced by ones that always or never hold.
 */
const inColours = (html: string, scheme: "light" | "dark"): string =>
  html
    .replaceAll(
      /\(\s*prefers-color-scheme\s*:\s*(light|dark)\s*\)/gi,
      (_, wanted: string) => wanted.toLowerCase() === scheme ? "(min-width: 0)" : "(max-width: 0)",
    )
    .replaceAll(/(color-schemes?\s*:\s*|content=["'])light dark\b/gi, `$1${scheme}`);

const render = (v: Visit, version: Version) => {
  const { locale, kind, layoutSlug, texts, subjectTemplate, htmlBodyTemplate, textBodyTemplate } = version;
  return v.api.call("previewNotificationTemplate", {
    body: {
      locale,
      kind,
      layoutSlug,
      texts,
      subjectTemplate,
      htmlBodyTemplate,
      textBodyTemplate,
      requiredVariables: version.requiredVariables,
      useSampleData: true,
    },
  });
};

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
