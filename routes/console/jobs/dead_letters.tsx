import type { Child } from "hono/jsx";
import type { z } from "zod";
import type { DeadLetterGroupDto, DeadLetterJobDto } from "../../jobs/shapes.ts";
import { ActionButton, ButtonLink, FilterBar, SelectField, TextField } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../components/table.tsx";
import { Tabs } from "../components/tabs.tsx";
import { Badge, CopyValue, Facts, JsonText, number, shortId, Time } from "../components/values.tsx";
import { type Page, searchOf } from "../shared/api.ts";
import { shared } from "../shared/console_words.ts";
import type { View, Visit } from "../shared/page.ts";
import { words } from "./dead_letter_words.ts";
import { words as jobWords } from "./words.ts";

type Group = z.output<typeof DeadLetterGroupDto>;
type DeadLetter = z.output<typeof DeadLetterJobDto>;

const ViewTabs = ({ v, here }: { v: Visit; here: "groups" | "list" }) => {
  const w = words[v.locale];
  return (
    <Tabs
      label={w.views}
      tabs={[
        { href: "dead-letters", label: w.byError, isCurrent: here === "groups" },
        { href: "dead-letters/list", label: w.oneByOne, isCurrent: here === "list" },
      ]}
    />
  );
};

const actions = (v: Visit) => (
  <>
    <ButtonLink href="dead-letters/retry" label={words[v.locale].retryMany} icon="retry" />
    <ButtonLink href="dead-letters/purge" label={words[v.locale].purge} icon="trash" />
  </>
);

const groupSearch = ({ jobTypeName, errorPattern }: Pick<Group, "jobTypeName" | "errorPattern">) =>
  searchOf({ jobTypeName, errorPattern });

/** What waits for a decision, by job type and error. */
export async function deadLettersPage(v: Visit): Promise<View> {
  const w = words[v.locale];
  const page = await v.api.get<Page<Group>>("dead-letter-jobs/groups", { page: v.query.get("page") });
  const columns: Column<Group>[] = [
    {
      head: w.error,
      cell: (group) => (
        <>
          <a class="break" href={`dead-letters/list${groupSearch(group)}`}>
            {group.errorPattern || <em>{w.noError}</em>}
          </a>
          <span class="sub">{group.jobTypeName}</span>
        </>
      ),
    },
    { head: w.count, align: "end", cell: ({ count }) => number(v, count) },
    { head: w.first, cell: ({ firstFailedAt }) => <Time v={v} at={firstFailedAt} />, wideOnly: true },
    { head: w.last, cell: ({ lastFailedAt }) => <Time v={v} at={lastFailedAt} /> },
    {
      head: shared[v.locale].actions,
      cell: (group) => (
        <ButtonLink href={`dead-letters/retry${groupSearch(group)}`} label={w.retryGroup} icon="retry" />
      ),
    },
  ];
  return {
    title: w.title,
    actions: actions(v),
    body: (
      <>
        <ViewTabs v={v} here="groups" />
        <LivePart v={v} id="groups" everySeconds={10}>
          <DataTable
            caption={w.groupsCaption}
            columns={columns}
            rows={page.items}
            empty={<EmptyList v={v} icon="check" text={w.empty}>{w.emptyText}</EmptyList>}
          />
          <Pager v={v} path="dead-letters" page={page} />
        </LivePart>
      </>
    ),
  };
}

/** Dead letters one by one; of one group where the address names it. */
export async function deadLetterListPage(v: Visit): Promise<View> {
  const w = words[v.locale];
  const of = (name: string) => v.query.get(name);
  const group = { jobTypeName: of("jobTypeName"), errorPattern: of("errorPattern") };
  const isRetried = of("isRetried");
  const page = await v.api.get<Page<DeadLetter>>("dead-letter-jobs", {
    ...group,
    isRetried,
    page: of("page"),
  });
  return {
    title: group.errorPattern ?? group.jobTypeName ?? w.title,
    ...group.errorPattern || group.jobTypeName ? { crumbs: [{ href: "dead-letters", label: w.title }] } : {},
    actions: group.errorPattern
      ? (
        <ButtonLink
          href={`dead-letters/retry${searchOf(group)}`}
          label={w.retryGroup}
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
            label={jobWords[v.locale].type}
            name="jobTypeName"
            value={group.jobTypeName}
            maxlength={200}
          />
          <SelectField
            label={w.show}
            name="isRetried"
            value={isRetried}
            any={jobWords[v.locale].all}
            choices={[{ value: "false", label: w.onlyWaiting }, { value: "true", label: w.onlyRetried }]}
          />
        </FilterBar>
        <LivePart v={v} id="dead-letters" everySeconds={10}>
          <DataTable
            caption={w.caption}
            columns={columns(v)}
            rows={page.items}
            empty={<EmptyList v={v} icon="check" text={w.empty}>{w.emptyText}</EmptyList>}
          />
          <Pager v={v} path="dead-letters/list" page={page} />
        </LivePart>
      </>
    ),
  };
}

function columns(v: Visit): Column<DeadLetter>[] {
  const w = words[v.locale];
  return [
    {
      head: jobWords[v.locale].job,
      cell: ({ id, jobTypeName }) => (
        <>
          <a href={`dead-letters/${id}`}>{jobTypeName}</a>
          <span class="sub">
            <code title={id}>{shortId(id)}</code>
          </span>
        </>
      ),
    },
    { head: w.error, cell: ({ errorMessage }) => <span class="clamp">{errorMessage ?? w.noError}</span> },
    { head: jobWords[v.locale].queue, cell: ({ queue }) => queue, wideOnly: true },
    {
      head: jobWords[v.locale].attempts,
      align: "end",
      cell: ({ attempts }) => number(v, attempts),
      wideOnly: true,
    },
    { head: w.failed, cell: ({ failedAt }) => <Time v={v} at={failedAt} /> },
    {
      head: w.state,
      cell: ({ id, retriedJobId }) =>
        retriedJobId
          ? <a href={`jobs/${retriedJobId}`}>{w.retried}</a>
          : <ActionButton v={v} action={`dead-letters/${id}/retry`} label={w.retry} icon="retry" />,
    },
  ];
}

/** One dead letter: what failed, with what, and what became of it. */
export async function deadLetterPage(v: Visit): Promise<View> {
  const w = words[v.locale];
  const j = jobWords[v.locale];
  const entry = await v.api.get<DeadLetter>(`dead-letter-jobs/${v.params.id}`);
  const { id, jobId, jobTypeName, queue, attempts, errorMessage, failedAt, retriedAt, retriedJobId } = entry;
  return {
    title: jobTypeName,
    crumbs: [{ href: "dead-letters", label: w.title }],
    actions: retriedJobId ? undefined : (
      <ActionButton
        v={v}
        action={`dead-letters/${id}/retry`}
        label={w.retry}
        icon="retry"
        tone="primary"
      />
    ),
    body: (
      <>
        <Card
          title={<Badge tone={retriedJobId ? "ok" : "bad"}>{retriedJobId ? w.retried : w.waiting}</Badge>}
        >
          <Facts
            facts={[
              ["Id", <CopyValue v={v} value={id} />],
              [
                w.deadJob,
                <a href={`jobs/${jobId}`}>
                  <code>{shortId(jobId)}</code>
                </a>,
              ],
              [j.queue, queue],
              [j.attempts, number(v, attempts)],
              [w.failed, <Time v={v} at={failedAt} />],
              ...retriedJobId ? [retriedFact(v, retriedJobId, retriedAt)] : [],
            ]}
          />
        </Card>
        <div class="grid-2">
          <Card title={w.errorText}>
            <pre class="code-block error-text" tabindex={0}>{errorMessage ?? w.noError}</pre>
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
  words[v.locale].newJob,
  <>
    <a href={`jobs/${jobId}`}>
      <code>{shortId(jobId)}</code>
    </a>{" "}
    <Time v={v} at={at} />
  </>,
];
