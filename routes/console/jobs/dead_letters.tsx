import type { Child } from "hono/jsx";
import type { z } from "zod";
import type { DeadLetterGroupDto, DeadLetterJobDto } from "../../jobs/shapes.ts";
import { ActionButton, ButtonLink, FilterBar, SelectField, TextField } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../components/table.tsx";
import { Tabs } from "../components/tabs.tsx";
import { Badge, CopyValue, Facts, JsonText, number, shortId, Time } from "../components/values.tsx";
import { type Page, searchOf } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { View, Visit } from "../shared/page.ts";
import { deadLetterTexts } from "./dead_letter_texts.ts";
import { jobTexts } from "./texts.ts";

type Group = z.output<typeof DeadLetterGroupDto>;
type DeadLetter = z.output<typeof DeadLetterJobDto>;

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

const groupSearch = ({ jobTypeName, errorPattern }: Pick<Group, "jobTypeName" | "errorPattern">) =>
  searchOf({ jobTypeName, errorPattern });

/** Open dead letters, grouped by job type and error. */
export async function deadLettersPage(v: Visit): Promise<View> {
  const t = deadLetterTexts[v.locale];
  const page = await v.api.get<Page<Group>>("dead-letter-jobs/groups", { page: v.query.get("page") });
  const columns: Column<Group>[] = [
    {
      head: t.error,
      cell: (group) => (
        <>
          <a class="break" href={`dead-letters/list${groupSearch(group)}`}>
            {group.errorPattern || <em>{t.noError}</em>}
          </a>
          <span class="sub">{group.jobTypeName}</span>
        </>
      ),
    },
    { head: t.count, align: "end", cell: ({ count }) => number(v, count) },
    { head: t.first, cell: ({ firstFailedAt }) => <Time v={v} at={firstFailedAt} />, wideOnly: true },
    { head: t.last, cell: ({ lastFailedAt }) => <Time v={v} at={lastFailedAt} /> },
    {
      head: commonTexts[v.locale].actions,
      cell: (group) => (
        <ButtonLink href={`dead-letters/retry${groupSearch(group)}`} label={t.retryGroup} icon="retry" />
      ),
    },
  ];
  return {
    title: t.title,
    actions: actions(v),
    body: (
      <>
        <ViewTabs v={v} here="groups" />
        <LivePart v={v} id="groups" everySeconds={10}>
          <DataTable
            caption={t.groupsCaption}
            columns={columns}
            rows={page.items}
            empty={<EmptyList v={v} icon="check" text={t.empty}>{t.emptyText}</EmptyList>}
          />
          <Pager v={v} path="dead-letters" page={page} />
        </LivePart>
      </>
    ),
  };
}

/** A list of dead letters. The query may limit it to one group. */
export async function deadLetterListPage(v: Visit): Promise<View> {
  const t = deadLetterTexts[v.locale];
  const given = (name: string) => v.query.get(name);
  const group = { jobTypeName: given("jobTypeName"), errorPattern: given("errorPattern") };
  const isRetried = given("isRetried");
  const page = await v.api.get<Page<DeadLetter>>("dead-letter-jobs", {
    ...group,
    isRetried,
    page: given("page"),
  });
  return {
    title: group.errorPattern ?? group.jobTypeName ?? t.title,
    ...group.errorPattern || group.jobTypeName ? { crumbs: [{ href: "dead-letters", label: t.title }] } : {},
    actions: group.errorPattern
      ? (
        <ButtonLink
          href={`dead-letters/retry${searchOf(group)}`}
          label={t.retryGroup}
          icon="retry"
          tone="primary"
        />
      )
      : actions(v),
    body: (
      <>
        {!group.errorPattern && <ViewTabs v={v} here="list" />}
        <FilterBar v={v} action="dead-letters/list" target="dead-letters">
          {group.errorPattern && <input type="hidden" name="errorPattern" value={group.errorPattern} />}
          <TextField
            label={jobTexts[v.locale].type}
            name="jobTypeName"
            value={group.jobTypeName}
            maxlength={200}
          />
          <SelectField
            label={t.show}
            name="isRetried"
            value={isRetried}
            any={jobTexts[v.locale].all}
            choices={[{ value: "false", label: t.onlyOpen }, { value: "true", label: t.onlyRetried }]}
          />
        </FilterBar>
        <LivePart v={v} id="dead-letters" everySeconds={10}>
          <DataTable
            caption={t.caption}
            columns={columns(v)}
            rows={page.items}
            empty={<EmptyList v={v} icon="check" text={t.empty}>{t.emptyText}</EmptyList>}
          />
          <Pager v={v} path="dead-letters/list" page={page} />
        </LivePart>
      </>
    ),
  };
}

function columns(v: Visit): Column<DeadLetter>[] {
  const t = deadLetterTexts[v.locale];
  return [
    {
      head: jobTexts[v.locale].job,
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
    { head: jobTexts[v.locale].queue, cell: ({ queue }) => queue, wideOnly: true },
    {
      head: jobTexts[v.locale].attempts,
      align: "end",
      cell: ({ attempts }) => number(v, attempts),
      wideOnly: true,
    },
    { head: t.failed, cell: ({ failedAt }) => <Time v={v} at={failedAt} /> },
    {
      head: t.status,
      cell: ({ id, retriedJobId }) =>
        retriedJobId
          ? <a href={`jobs/${retriedJobId}`}>{t.retried}</a>
          : <ActionButton v={v} action={`dead-letters/${id}/retry`} label={t.retry} icon="retry" />,
    },
  ];
}

/** One dead letter: its job, error, arguments and retry. */
export async function deadLetterPage(v: Visit): Promise<View> {
  const t = deadLetterTexts[v.locale];
  const j = jobTexts[v.locale];
  const entry = await v.api.get<DeadLetter>(`dead-letter-jobs/${v.params.id}`);
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
          <Card title={t.errorText}>
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
