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

type CompareWords = typeof import("diff").diffWordsWithSpace;
/** Two lines with more changed words are shown as a whole, because the time grows with the changed words. */
const LIMITS = { maxEditLength: 200 };

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
  const { diffWordsWithSpace: words } = await import("diff"); // few visits ever compare texts
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
          <Differences v={v} changes={changes} labels={labels} versions={[older, newer]} words={words} />
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
                {parts.map(({ skipped, lines }) => (
                  <>
                    {skipped > 0 && (
                      <tr>
                        <td colspan={2} class="muted">{`… ${t.unchangedLines(skipped)}`}</td>
                      </tr>
                    )}
                    {pairsOf(lines).map((pair) => <Pair v={v} pair={pair} words={words} />)}
                  </>
                ))}
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
