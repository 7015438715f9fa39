import { ActionButton, ButtonLink, SelectField } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { DataTable } from "../components/table.tsx";
import { Badge, Time } from "../components/values.tsx";
import { action, done } from "../shared/actions.ts";
import type { Answer, Row } from "../shared/operations.ts";
import type { ConsolePage, View, Visit } from "../shared/page.ts";
import { Person, userNames } from "../shared/user_names.tsx";
import { LineDifferences } from "./line_differences.tsx";
import { templateTexts } from "./template_texts.ts";
import { versionBody, versionPage } from "./version.tsx";
import { versionTexts } from "./version_texts.ts";

type Item = Row<"listNotificationTemplateVersions">;
type Compared = Answer<"compareNotificationTemplateVersions">;
type Template = Answer<"readNotificationTemplate">;

/** Whether the viewer may restore versions: in a tenant, built-in templates cannot be changed. */
const mayRestore = (v: Visit, template: Template): boolean => !template.isShipped || v.viewer.tenant === null;

/** The versions of a template, and the differences between two of them: by default the last two. */
async function versionsPage(v: Visit): Promise<View> {
  const t = versionTexts[v.locale];
  const { params } = v;
  const [template, versions] = await Promise.all([
    v.api.call("readNotificationTemplate", { params }),
    v.api.call("listNotificationTemplateVersions", { params }),
  ]);
  const [newest, before] = versions.map(({ version }) => version);
  const chosen = (name: string, otherwise = 0) => Number(v.query.get(name)) || otherwise;
  const newer = chosen("newer", newest);
  const older = chosen("older", before ?? newest);
  const compared = await v.api.call("compareNotificationTemplateVersions", {
    params: { ...params, version: String(older) },
    query: { with: String(newer) },
  });
  const names = await userNames(v, versions.map(({ changedBy }) => changedBy));
  const here = `templates/${template.id}`;
  return {
    title: t.versions,
    crumbs: [{ href: "templates", label: templateTexts[v.locale].title }, {
      href: here,
      label: template.name,
    }],
    actions: <ButtonLink href={here} label={t.back} />,
    body: (
      <>
        <Card title={t.differences(older, newer)}>
          <form method="get" action={`${here}/versions`} class="row compare">
            <VersionSelect label={t.olderVersion} name="older" value={older} versions={versions} />
            <VersionSelect label={t.newerVersion} name="newer" value={newer} versions={versions} />
            <button type="submit" class="button">{t.compare}</button>
          </form>
          <Differences v={v} changes={compared.changes} />
        </Card>
        <Card>
          <DataTable
            caption={t.caption}
            rows={versions}
            empty={null}
            columns={[
              {
                head: templateTexts[v.locale].version,
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
                cell: ({ changedBy }) =>
                  changedBy ? <Person v={v} names={names} id={changedBy} /> : t.service,
              },
              {
                head: t.compare,
                cell: ({ version }) => (
                  <>
                    {version > 1 && (
                      <a href={`${here}/versions?older=${version - 1}&newer=${version}`}>
                        {version - 1} → {version}
                      </a>
                    )}
                    {newest !== undefined && version < newest - 1 && (
                      <a class="sub" href={`${here}/versions?older=${version}&newer=${newest}`}>
                        {t.sinceVersion(version)}
                      </a>
                    )}
                  </>
                ),
              },
              {
                head: t.restore,
                cell: ({ version }) =>
                  version !== newest && mayRestore(v, template) && (
                    <ActionButton
                      v={v}
                      action={`${here}/versions/${version}/restore`}
                      label={t.restore}
                      icon="retry"
                      confirm={t.restoreConfirm(version)}
                    />
                  ),
              },
            ]}
          />
        </Card>
      </>
    ),
  };
}

function VersionSelect(
  { label, name, value, versions }: { label: string; name: string; value: number; versions: Item[] },
) {
  const choices = versions.map(({ version }) => ({ value: String(version), label: String(version) }));
  return <SelectField label={label} name={name} value={String(value)} choices={choices} />;
}

/** The differences of every text that changed. */
function Differences({ v, changes }: { v: Visit; changes: Compared["changes"] }) {
  const t = templateTexts[v.locale];
  if (changes.length === 0) return <p class="muted">{versionTexts[v.locale].none}</p>;
  const labels: Record<string, string> = {
    name: t.name,
    subjectTemplate: t.subject,
    htmlBodyTemplate: t.html,
    textBodyTemplate: t.text,
    requiredVariables: t.required,
    layoutSlug: t.layout,
    texts: t.texts,
  };
  return (
    <>
      {changes.map(({ field, parts }) => (
        <section class="stack">
          <h3>{labels[field] ?? field}</h3>
          <LineDifferences v={v} label={labels[field] ?? field} parts={parts} />
        </section>
      ))}
    </>
  );
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
