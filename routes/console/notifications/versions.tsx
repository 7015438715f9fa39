import { type DifferencePart, MAX_EDITS } from "../../../domain/shared/text_differences.ts";
import { actionButton, buttonLink, SelectField } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { dataTable } from "../components/table.tsx";
import { Badge, CodeBlock, factList, Time } from "../components/values.tsx";
import type { Answer, Row } from "../shared/operations.ts";
import type { ConsolePage, Outcome, View, Visit } from "../shared/page.ts";
import { crumbsTo } from "../shared/scope.ts";
import { Person, userNames } from "../components/user_names.tsx";
import { versionTexts } from "./template_texts.ts";
import { action, done } from "../shared/actions.ts";
import { isOwn, templateLabels } from "./templates.tsx";
import { tabBar } from "../components/tabs.tsx";
import { framedHtml, PreviewErrors, withLogo } from "./live_preview.tsx";
import { Refusal } from "../shared/api.ts";
import { notificationTexts } from "./texts.ts";

type Item = Row<"listNotificationTemplateVersions">;
type Compared = Answer<"compareNotificationTemplateVersions">;

type CompareWords = typeof import("diff").diffWordsWithSpace;
/** Two lines with more changed words are shown as a whole, because the time grows with the changed words. */
const LIMITS = { maxEditLength: 200 };

/** A kind of templates with versions. */
interface Versioned {
  kind: "Notification" | "Document";
  /** The page of all templates. */
  list: string;
  /** Labels of the compared texts. */
  labels(v: Visit): Record<string, string>;
  /** `isShipped` is absent if no template of this kind is built in. */
  mayRestore(v: Visit, template: { id: string; isShipped?: boolean }): boolean;
  /** The permissions to read a version, and to restore it. */
  permissions?: { reading: string[]; changing: string[] };
}

/** The page with the versions of a template and the differences between two of them, and the action that restores one. */
export const versionPagesOf = (versioned: Versioned): ConsolePage[] => [
  {
    path: `${versioned.list}/{id}/versions`,
    ...versioned.permissions && { permissions: versioned.permissions.reading },
    get: (v) => versionsView(v, versioned),
  },
  action(
    `${versioned.list}/{id}/versions/{version}/restore`,
    `restore${versioned.kind}TemplateVersion`,
    (v, { version }) =>
      done(`${versioned.list}/${v.params.id}/versions`, versionTexts[v.locale].restored(version)),
    versioned.permissions?.changing,
  ),
];

/** The versions of a template, and the differences between two of them: by default the last two. */
async function versionsView(v: Visit, { kind, list, labels, mayRestore }: Versioned): Promise<View> {
  const t = versionTexts[v.locale];
  const { params } = v;
  const [template, versions] = await Promise.all([
    v.api.call(`read${kind}Template`, { params }),
    v.api.call(`list${kind}TemplateVersions`, { params }),
  ]);
  const here = `${list}/${template.id}`;
  const [newest, before] = versions.map(({ version }) => version);
  const chosen = (name: string, otherwise = 0) => Number(v.query.get(name)) || otherwise;
  const newer = chosen("newer", newest);
  const older = chosen("older", before ?? newest);
  const { changes } = await v.api.call(`compare${kind}TemplateVersions`, {
    params: { ...params, version: String(older) },
    query: { with: String(newer) },
  });
  const { diffWordsWithSpace: words } = await import("diff"); // few visits ever compare texts
  return {
    title: t.versions,
    crumbs: crumbsTo(v, { href: here, label: template.name }),
    actions: buttonLink(here, t.back),
    body: [
      <Card title={t.differences(older, newer)}>
        <form method="get" action={`${here}/versions`} class="row compare">
          <VersionSelect label={t.olderVersion} name="older" value={older} versions={versions} />
          <VersionSelect label={t.newerVersion} name="newer" value={newer} versions={versions} />
          <button type="submit" class="button">{t.compare}</button>
        </form>
        <Differences v={v} changes={changes} labels={labels(v)} versions={[older, newer]} words={words} />
      </Card>,
      <Card>{await versionTable(v, here, versions, mayRestore(v, template))}</Card>,
    ],
  };
}

async function versionTable(v: Visit, here: string, versions: Item[], mayRestore: boolean) {
  const t = versionTexts[v.locale];
  const newest = versions[0]?.version ?? 0;
  const names = await userNames(v, versions.map(({ changedBy }) => changedBy));
  return dataTable(t.caption, versions, null, [
    {
      head: t.version,
      cell: ({ version }) => (
        <span class="row">
          <a href={`${here}/versions/${version}`}>{t.versionOf(version)}</a>
          {version === newest && <Badge tone="ok">{t.current}</Badge>}
        </span>
      ),
    },
    { head: t.changed, cell: ({ changedAt }) => <Time v={v} at={changedAt} /> },
    {
      head: t.changedBy,
      cell: ({ changedBy }) => changedBy ? <Person v={v} names={names} id={changedBy} /> : t.service,
    },
    {
      head: t.compare,
      cell: ({ version }) => [
        version > 1 && (
          <a href={`${here}/versions?older=${version - 1}&newer=${version}`}>
            {version - 1} → {version}
          </a>
        ),
        version < newest - 1 && (
          <a class="sub" href={`${here}/versions?older=${version}&newer=${newest}`}>
            {t.sinceVersion(version)}
          </a>
        ),
      ],
    },
    {
      head: t.restore,
      cell: ({ version }) =>
        version !== newest && mayRestore &&
        actionButton(v, `${here}/versions/${version}/restore`, t.restore, {
          icon: "retry",
          confirm: t.restoreConfirm(version),
        }),
    },
  ]);
}

function VersionSelect(
  { label, name, value, versions }: { label: string; name: string; value: number; versions: Item[] },
) {
  const choices = versions.map(({ version }) => ({ value: String(version), label: String(version) }));
  return <SelectField label={label} name={name} value={String(value)} choices={choices} />;
}

/** The differences of every text that changed. */
function Differences({ v, changes, labels, versions, words }: {
  v: Visit;
  changes: Compared["changes"];
  labels: Record<string, string>;
  versions: [older: number, newer: number];
  words: CompareWords;
}) {
  const t = versionTexts[v.locale];
  if (changes.length === 0) return <p class="muted">{t.none}</p>;
  return (
    <>
      {changes.map(({ field, isTooDifferent, parts }) => (
        <section class="stack">
          <h3>{labels[field] ?? field}</h3>
          {isTooDifferent ? <p class="muted">{t.tooDifferent(MAX_EDITS)}</p> : (
            <table class="side-diff">
              <caption class="sr-only">{labels[field] ?? field}</caption>
              <thead>
                <tr>{versions.map((version) => <th scope="col">{t.versionOf(version)}</th>)}</tr>
              </thead>
              <tbody>
                {parts.map(({ skipped, lines }) => [
                  skipped > 0 && (
                    <tr>
                      <td colspan={2} class="muted">{`… ${t.unchangedLines(skipped)}`}</td>
                    </tr>
                  ),
                  pairsOf(lines).map((pair) => <Pair v={v} pair={pair} words={words} />),
                ])}
              </tbody>
            </table>
          )}
        </section>
      ))}
    </>
  );
}

/** A line of the older version beside the one of the newer version; null if it is not in that version. */
type LinePair = [older: string | null, newer: string | null];

/** Puts each removed line beside the added line that replaces it. */
function pairsOf(lines: DifferencePart["lines"]): LinePair[] {
  const pairs: LinePair[] = [];
  let open = 0; // the first removed line without one beside it
  for (const { change, text } of lines) {
    const removed = pairs[open];
    if (change === "Added" && removed) {
      removed[1] = text;
      open++;
      continue;
    }
    pairs.push([change === "Added" ? null : text, change === "Removed" ? null : text]);
    if (change !== "Removed") open = pairs.length;
  }
  return pairs;
}

/** Two lines beside each other, with their changed words. Screen readers hear "removed" and "added" before them. */
function Pair({ v, pair: [older, newer], words }: { v: Visit; pair: LinePair; words: CompareWords }) {
  const t = versionTexts[v.locale];
  if (older === newer) {
    return (
      <tr>
        <td>{`  ${older}`}</td>
        <td class="same">{`  ${newer}`}</td>
      </tr>
    );
  }
  const whole = [{ value: older ?? "", removed: true, added: false }, {
    value: newer ?? "",
    removed: false,
    added: true,
  }];
  const parts = older === null || newer === null ? whole : words(older, newer, LIMITS) ?? whole;
  return (
    <tr>
      <td class={older === null ? "same" : "removed"}>
        {older !== null && <span class="sr-only">{t.removed}:</span>}
        {older !== null && "- "}
        {parts.map(({ value, removed, added }) => removed ? <del>{value}</del> : !added && value)}
      </td>
      <td class={newer === null ? "same" : "added"}>
        {newer !== null && <span class="sr-only">{t.added}:</span>}
        {newer !== null && "+ "}
        {parts.map(({ value, removed, added }) => added ? <ins>{value}</ins> : !removed && value)}
      </td>
    </tr>
  );
}

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
    crumbs: crumbsTo(v, { href: list, label: t.versions }),
    actions: buttonLink(`${list}?newer=${version.version}&older=${version.version - 1 || 1}`, t.compare),
    body: rendered instanceof Refusal ? <PreviewErrors refusal={rendered} /> : (
      <Card>
        {factList([[notificationTexts[v.locale].subject, rendered.subject]])}
        <p class="hint">{t.sampleNote}</p>
        {rendered.htmlBody === null ? <p class="muted">{t.noHtml}</p> : [
          tabBar(t.colours, [
            { href: here, label: t.light, isCurrent: !isDark },
            { href: `${here}?colours=dark`, label: t.dark, isCurrent: isDark },
          ]),
          <div class="devices">
            <Device label={t.phone} width="phone" src={body} isDark={isDark} />
            <Device label={t.desktop} width="desktop" src={body} isDark={isDark} />
          </div>,
        ]}
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

export const versionPages: ConsolePage[] = [
  ...versionPagesOf({
    kind: "Notification",
    list: "templates",
    labels: templateLabels,
    mayRestore: isOwn,
  }),
  { path: "templates/{id}/versions/{version}", get: versionPage },
  { path: "templates/{id}/versions/{version}/body", get: versionBody },
];
