import type { Child } from "hono/jsx";
import { ActionButton, ButtonLink } from "../components/forms.tsx";
import { choice, hidden, list, listView, text, timeColumn } from "../components/list.tsx";
import { Card } from "../components/notice.tsx";
import { Tabs } from "../components/tabs.tsx";
import { Badge, CopyValue, Facts, JsonText, number, shortId, Time } from "../components/values.tsx";
import { action, done } from "../shared/actions.ts";
import { searchOf } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { ConsolePage, View, Visit } from "../shared/page.ts";
import { purgePage, retryManyPage } from "./dead_letter_bulk.tsx";
import { deadLetterTexts } from "./dead_letter_texts.ts";
import { jobTexts } from "./texts.ts";

const ViewTabs = ({ v, here }: { v: Visit; here: "groups" | "list" }) => {
  const t = deadLetterTexts[v.locale];
  return (
    <Tabs
      label={t.views}
      tabs={[
        { href: "dead-letters", label: t.byError, isCurrent: here === "groups" },
        { href: "dead-letters/list", label: t.list, isCurrent: here === "list" },
      ]}
    />
  );
};

const actions = (v: Visit) => (
  <>
    <ButtonLink href="dead-letters/retry" label={deadLetterTexts[v.locale].retryMany} icon="retry" />
    <ButtonLink href="dead-letters/purge" label={deadLetterTexts[v.locale].purge} icon="trash" />
  </>
);

/** Open dead letters, grouped by job type and error. */
async function groupsPage(v: Visit): Promise<View> {
  const t = deadLetterTexts[v.locale];
  const page = await v.api.list("listDeadLetterGroups", v);
  const searchFor = ({ jobTypeName, errorPattern }: typeof page.items[number]) =>
    searchOf({ jobTypeName, errorPattern });
  return {
    title: t.title,
    actions: actions(v),
    body: (
      <>
        <ViewTabs v={v} here="groups" />
        {list(v, page, {
          path: "dead-letters",
          id: "groups",
          icon: "check",
          caption: t.groupsCaption,
          empty: [t.empty, t.emptyText],
          everySeconds: 10,
          columns: [
            {
              head: t.error,
              cell: (group) => (
                <>
                  <a class="break" href={`dead-letters/list${searchFor(group)}`}>
                    {group.errorPattern || <em>{t.noError}</em>}
                  </a>
                  <span class="sub">{group.jobTypeName}</span>
                </>
              ),
            },
            { head: t.open, align: "end", cell: ({ count }) => number(v, count) },
            timeColumn(v, t.first, "firstFailedAt", { wideOnly: true }),
            timeColumn(v, t.last, "lastFailedAt"),
            {
              head: commonTexts[v.locale].actions,
              cell: (group) => (
                <ButtonLink
                  href={`dead-letters/retry${searchFor(group)}`}
                  label={t.retryGroup}
                  icon="retry"
                />
              ),
            },
          ],
        })}
      </>
    ),
  };
}

/** A list of dead letters. The query may limit it to one group. */
async function deadLettersPage(v: Visit): Promise<View> {
  const t = deadLetterTexts[v.locale];
  const j = jobTexts[v.locale];
  const group = { jobTypeName: v.query.get("jobTypeName"), errorPattern: v.query.get("errorPattern") };
  const retry = `dead-letters/retry${searchOf(group)}`;
  return await listView(v, "listDeadLetters", {
    path: "dead-letters/list",
    id: "dead-letters",
    icon: "check",
    title: group.errorPattern ?? group.jobTypeName ?? t.title,
    ...group.errorPattern || group.jobTypeName ? { crumbs: [{ href: "dead-letters", label: t.title }] } : {},
    actions: group.errorPattern
      ? <ButtonLink href={retry} label={t.retryGroup} icon="retry" tone="primary" />
      : actions(v),
    top: !group.errorPattern && <ViewTabs v={v} here="list" />,
    caption: t.caption,
    empty: [t.empty, t.emptyText],
    filters: [
      hidden("errorPattern"),
      text("jobTypeName", j.type, { maxlength: 200 }),
      choice("isRetried", t.show, { false: t.onlyOpen, true: t.onlyRetried }, j.all),
    ],
    everySeconds: 10,
    columns: [
      {
        head: j.job,
        cell: ({ id, jobTypeName }) => (
          <>
            <a href={`dead-letters/${id}`}>{jobTypeName}</a>
            <span class="sub">
              <code title={id}>{shortId(id)}</code>
            </span>
          </>
        ),
      },
      { head: t.error, cell: ({ errorMessage }) => <span class="clamp">{errorMessage ?? t.noError}</span> },
      { head: j.queue, cell: ({ queue }) => queue, wideOnly: true },
      { head: j.attempts, align: "end", cell: ({ attempts }) => number(v, attempts), wideOnly: true },
      timeColumn(v, t.failed, "failedAt"),
      {
        head: t.status,
        cell: ({ id, retriedJobId }) =>
          retriedJobId
            ? <a href={`jobs/${retriedJobId}`}>{t.retried}</a>
            : <ActionButton v={v} action={`dead-letters/${id}/retry`} label={t.retry} icon="retry" />,
      },
    ],
  });
}

/** One dead letter: its job, error, arguments and retry. */
async function deadLetterPage(v: Visit): Promise<View> {
  const t = deadLetterTexts[v.locale];
  const j = jobTexts[v.locale];
  const entry = await v.api.call("readDeadLetter", { params: v.params });
  const { id, jobId, jobTypeName, queue, attempts, errorMessage, failedAt, retriedAt, retriedJobId } = entry;
  return {
    title: jobTypeName,
    crumbs: [{ href: "dead-letters", label: t.title }],
    actions: retriedJobId ? undefined : (
      <ActionButton
        v={v}
        action={`dead-letters/${id}/retry`}
        label={t.retry}
        icon="retry"
        tone="primary"
      />
    ),
    body: (
      <>
        <Card
          title={<Badge tone={retriedJobId ? "ok" : "bad"}>{retriedJobId ? t.retried : t.open}</Badge>}
        >
          <Facts
            facts={[
              ["Id", <CopyValue v={v} value={id} />],
              [
                t.job,
                <a href={`jobs/${jobId}`}>
                  <code>{shortId(jobId)}</code>
                </a>,
              ],
              [j.queue, queue],
              [j.attempts, number(v, attempts)],
              [t.failed, <Time v={v} at={failedAt} />],
              ...retriedJobId ? [retriedFact(v, retriedJobId, retriedAt)] : [],
            ]}
          />
        </Card>
        <div class="grid-2">
          <Card title={t.error}>
            <pre class="code-block error-text" tabindex={0}>{errorMessage ?? t.noError}</pre>
          </Card>
          <Card title={j.args}>
            <JsonText value={entry.serializedArgs} label={j.args} />
          </Card>
        </div>
      </>
    ),
  };
}

const retriedFact = (v: Visit, jobId: string, at: string | null): [string, Child] => [
  deadLetterTexts[v.locale].newJob,
  <>
    <a href={`jobs/${jobId}`}>
      <code>{shortId(jobId)}</code>
    </a>{" "}
    <Time v={v} at={at} />
  </>,
];

/** Pages of dead letters and their actions. */
export const deadLetterPages: ConsolePage[] = [
  { path: "dead-letters", get: groupsPage },
  { path: "dead-letters/list", get: deadLettersPage },
  retryManyPage,
  purgePage,
  { path: "dead-letters/{id}", get: deadLetterPage },
  action(
    "dead-letters/{id}/retry",
    "retryDeadLetter",
    (v, { id }) => done(`jobs/${id}`, deadLetterTexts[v.locale].retryDone),
  ),
];
