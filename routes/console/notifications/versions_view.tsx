import { type DifferencePart, MAX_EDITS } from "../../../domain/shared/text_differences.ts";
import { actionButton, buttonLink, SelectField } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { dataTable } from "../components/table.tsx";
import { Badge, Time } from "../components/values.tsx";
import type { Answer, Row } from "../shared/operations.ts";
import type { View, Visit } from "../shared/page.ts";
import { Person, userNames } from "../components/user_names.tsx";
import { versionTexts } from "./version_texts.ts";

type Item = Row<"listNotificationTemplateVersions">;
type Compared = Answer<"compareNotificationTemplateVersions">;

/** A template whose versions are shown. */
interface Versioned {
  /** The page of the template. */
  here: string;
  name: string;
  /** The page of all templates. */
  list: { href: string; label: string };
  /** Newest first. */
  versions: Item[];
  compare(older: number, newer: number): Promise<Compared>;
  /** Labels of the compared texts. */
  labels: Record<string, string>;
  mayRestore: boolean;
}

/** The versions of a template, and the differences between two of them: by default the last two. */
export async function versionsView(v: Visit, versioned: Versioned): Promise<View> {
  const t = versionTexts[v.locale];
  const { here, name, list, versions, labels } = versioned;
  const [newest, before] = versions.map(({ version }) => version);
  const chosen = (name: string, otherwise = 0) => Number(v.query.get(name)) || otherwise;
  const newer = chosen("newer", newest);
  const older = chosen("older", before ?? newest);
  const { changes } = await versioned.compare(older, newer);
  const names = await userNames(v, versions.map(({ changedBy }) => changedBy));
  return {
    title: t.versions,
    crumbs: [list, { href: here, label: name }],
    actions: buttonLink(here, t.back),
    body: (
      <>
        <Card title={t.differences(older, newer)}>
          <form method="get" action={`${here}/versions`} class="row compare">
            <VersionSelect label={t.olderVersion} name="older" value={older} versions={versions} />
            <VersionSelect label={t.newerVersion} name="newer" value={newer} versions={versions} />
            <button type="submit" class="button">{t.compare}</button>
          </form>
          <Differences v={v} changes={changes} labels={labels} />
        </Card>
        <Card>
          <VersionTable v={v} versioned={versioned} newest={newest ?? 0} names={names} />
        </Card>
      </>
    ),
  };
}

function VersionTable({ v, versioned, newest, names }: {
  v: Visit;
  versioned: Versioned;
  newest: number;
  names: Awaited<ReturnType<typeof userNames>>;
}) {
  const t = versionTexts[v.locale];
  const { here, versions, mayRestore } = versioned;
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
      cell: ({ version }) => (
        <>
          {version > 1 && (
            <a href={`${here}/versions?older=${version - 1}&newer=${version}`}>
              {version - 1} → {version}
            </a>
          )}
          {version < newest - 1 && (
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
function Differences(
  { v, changes, labels }: { v: Visit; changes: Compared["changes"]; labels: Record<string, string> },
) {
  const t = versionTexts[v.locale];
  if (changes.length === 0) return <p class="muted">{t.none}</p>;
  return (
    <>
      {changes.map(({ field, isTooDifferent, parts }) => (
        <section class="stack">
          <h3>{labels[field] ?? field}</h3>
          {isTooDifferent
            ? <p class="muted">{t.tooDifferent(MAX_EDITS)}</p>
            : <LineDifferences v={v} label={labels[field] ?? field} parts={parts} />}
        </section>
      ))}
    </>
  );
}

/** A unified view of the differences. Screen readers hear "added" and "removed" before each changed line. */
function LineDifferences({ v, label, parts }: { v: Visit; label: string; parts: DifferencePart[] }) {
  const t = versionTexts[v.locale];
  const line = ({ change, text }: DifferencePart["lines"][number]) => {
    if (change === "Unchanged") return <span>{`  ${text}\n`}</span>;
    const said = <span class="sr-only">{change === "Added" ? t.added : t.removed}:</span>;
    return change === "Added" ? <ins>{said}{`+ ${text}\n`}</ins> : <del>{said}{`- ${text}\n`}</del>;
  };
  return (
    <pre class="code-block line-diff" tabindex={0} role="region" aria-label={label}>
      {parts.map(({ skipped, lines }) => (
        <>
          {skipped > 0 && <span class="muted">{`… ${t.unchangedLines(skipped)}\n`}</span>}
          {lines.map(line)}
        </>
      ))}
    </pre>
  );
}
