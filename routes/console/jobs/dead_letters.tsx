import { actionButton, buttonLink, moreMenu } from "../components/forms.tsx";
import { tenantNames } from "../shared/access_queries.ts";
import { periodOf } from "../components/date_inputs.ts";
import {
  choice,
  hidden,
  linkColumn,
  list,
  type ListOptions,
  period,
  tenantColumn,
  text,
  timeColumn,
} from "../components/list.tsx";
import { Card } from "../components/notice.tsx";
import { pageTabs } from "../components/tabs.tsx";
import {
  Badge,
  CopyValue,
  factList,
  JsonText,
  number,
  shortId,
  Time,
  timelineFact,
} from "../components/values.tsx";
import { action, done } from "../shared/actions.ts";
import { searchOf } from "../shared/api.ts";
import type { Row } from "../shared/operations.ts";
import { type ConsolePage, rowActions, type View, type Visit } from "../shared/page.ts";
import { placeOf } from "../shared/scope.ts";
import { SearchedNote } from "./list.tsx";
import { PauseBanner } from "./pauses.tsx";
import { purgePage, retryManyPage } from "./dead_letter_bulk.tsx";
import { deadLetterTexts, jobTexts } from "./texts.ts";
import { withCount } from "../shared/languages.ts";

const isOpen = ({ retriedJobId }: Row<"listDeadLetters">): boolean => retriedJobId === null;

/** The actions on many dead letters. The jobs of purged dead letters stay until their retention ends. */
const deadLetterActions = rowActions<Row<"listDeadLetters">>({
  retry: {
    label: ["Retry", "Repetir"],
    question: (count) => [
      `Retry ${withCount("en", count, "dead letter", "dead letters")}?`,
      `Repetir ${withCount("pt", count, "falha definitiva", "falhas definitivas")}?`,
    ],
    fits: isOpen,
    run: (v, id, _fields, once) =>
      v.api.call("retryDeadLetter", { params: { id }, body: {}, headers: { "idempotency-key": once } }),
  },
  purge: {
    label: ["Purge", "Excluir"],
    question: (count) => [
      `Delete ${withCount("en", count, "dead letter", "dead letters")} permanently?`,
      `Excluir ${withCount("pt", count, "falha definitiva", "falhas definitivas")} para sempre?`,
    ],
    tone: "danger",
    fits: isOpen,
    run: (v, id) => v.api.call("discardDeadLetter", { params: { id } }),
  },
});

const viewTabs = (v: Visit, current: "dead-letters" | "dead-letters/list") => {
  const t = deadLetterTexts[v.locale];
  return pageTabs(t.views, current, [["dead-letters", t.byError], ["dead-letters/list", t.list]]);
};

const actions = (v: Visit) => [
  buttonLink("dead-letters/retry", deadLetterTexts[v.locale].retryMany, { icon: "retry" }),
  moreMenu(
    v,
    buttonLink("dead-letters/purge", deadLetterTexts[v.locale].purge, { icon: "trash", tone: "danger" }),
  ),
];

/** Open dead letters, grouped by job type and error. Each group shows the error of one of them. */
async function groupsPage(v: Visit): Promise<View> {
  const t = deadLetterTexts[v.locale];
  const [page, pauses] = await Promise.all([
    v.api.list("listDeadLetterGroups", v),
    v.api.call("listJobPauses"),
  ]);
  const tenantId = v.query.get("tenantId");
  const searchFor = ({ jobTypeName, errorPattern }: typeof page.items[number]) =>
    searchOf({ jobTypeName, errorPattern, tenantId });
  return {
    title: t.title,
    actions: actions(v),
    body: [
      <PauseBanner v={v} pauses={pauses} />,
      viewTabs(v, "dead-letters"),
      list(v, page, {
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
              <a
                class="clamp"
                href={`dead-letters/list${searchFor(group)}`}
                title={group.exampleError ?? ""}
              >
                {group.exampleError || <em>{t.noError}</em>}
              </a>
            ),
            below: [[jobTexts[v.locale].jobType, ({ jobTypeName }) => jobTypeName]],
          },
          { head: t.open, align: "end", cell: ({ count }) => number(v, count), onPhone: true },
          timeColumn(v, t.first, "firstFailedAt", { wideOnly: true }),
          timeColumn(v, t.last, "lastFailedAt"),
          {
            head: t.actions,
            cell: (group) => (
              group.errorPattern && (
                <span class="row">
                  {buttonLink(`dead-letters/retry${searchFor(group)}`, t.retryGroup, { icon: "retry" })}
                  {buttonLink(`dead-letters/purge${searchFor(group)}`, t.purgeGroup, { icon: "trash" })}
                </span>
              )
            ),
          },
        ],
      }),
    ],
  };
}

/** A list of dead letters. The query may limit it to one group. */
async function deadLettersPage(v: Visit): Promise<View> {
  const t = deadLetterTexts[v.locale];
  const j = jobTexts[v.locale];
  const group = {
    jobTypeName: v.query.get("jobTypeName"),
    errorPattern: v.query.get("errorPattern"),
    tenantId: v.query.get("tenantId"),
  };
  const { fromDate: failedFrom, toDate: failedTo } = periodOf(v);
  const [page, pauses] = await Promise.all([
    v.api.list("listDeadLetters", v, { failedFrom, failedTo }),
    v.api.call("listJobPauses"),
  ]);
  const names = v.scope ? null : await tenantNames(v, page.items.map(({ tenantId }) => tenantId));
  const parts = {
    path: "dead-letters/list",
    id: "dead-letters",
    icon: "check",
    top: [<PauseBanner v={v} pauses={pauses} />, !group.errorPattern && viewTabs(v, "dead-letters/list")],
    above: <SearchedNote v={v} from={t.from} />,
    caption: t.caption,
    empty: [t.empty, t.emptyText] as [string, string],
    filters: [
      hidden("errorPattern"),
      text("jobTypeName", j.jobType, { maxlength: 200 }),
      text("errorContains", t.errorContains, { maxlength: 500 }),
      ...period({ from: t.from, to: t.to }),
      choice("isRetried", t.show, { false: t.onlyOpen, true: t.onlyRetried }, j.all),
    ],
    everySeconds: 10,
    bulk: deadLetterActions,
    columns: [
      linkColumn(j.job, ({ id, jobTypeName }) => [`dead-letters/${id}`, jobTypeName], {
        below: [[j.id, ({ id }) => <code title={id}>{shortId(id)}</code>]],
      }),
      { head: t.error, cell: ({ errorMessage }) => <span class="clamp">{errorMessage ?? t.noError}</span> },
      ...tenantColumn<Row<"listDeadLetters">>(j, names),
      { head: j.queue, cell: ({ queue }) => queue, wideOnly: true },
      { head: j.attempts, align: "end", cell: ({ attempts }) => number(v, attempts), wideOnly: true },
      timeColumn(v, t.failed, "failedAt"),
      {
        head: t.status,
        cell: (row) =>
          row.retriedJobId
            ? <a href={`jobs/${row.retriedJobId}`}>{t.retried}</a>
            : retryButton(v, row, v.scope?.name ?? names?.get(row.tenantId ?? "")),
      },
    ],
  } satisfies ListOptions<Row<"listDeadLetters">>;
  const search = searchOf(group);
  return {
    title: page.items[0] && group.errorPattern
      ? t.groupOf(page.items[0].jobTypeName)
      : group.jobTypeName ?? t.title,
    crumbs: group.errorPattern || group.jobTypeName ? undefined : [],
    actions: group.errorPattern
      ? [
        buttonLink(`dead-letters/retry${search}`, t.retryGroup, { icon: "retry", tone: "primary" }),
        moreMenu(
          v,
          buttonLink(`dead-letters/purge${search}`, t.purgeGroup, { icon: "trash", tone: "danger" }),
        ),
      ]
      : actions(v),
    body: list(v, page, parts),
  };
}

const retryButton = (
  v: Visit,
  { id, jobTypeName, tenantId }: Pick<Row<"listDeadLetters">, "id" | "jobTypeName" | "tenantId">,
  tenant: string | undefined,
  tone: "primary" | "plain" = "plain",
) =>
  actionButton(v, `dead-letters/${id}/retry`, deadLetterTexts[v.locale].retry, {
    icon: "retry",
    tone,
    confirm: jobTexts[v.locale].againConfirm(jobTypeName, placeOf(v, tenant ?? tenantId)),
  });

/** One dead letter: its job, error, arguments and retry. */
async function deadLetterPage(v: Visit): Promise<View> {
  const t = deadLetterTexts[v.locale];
  const j = jobTexts[v.locale];
  const entry = await v.api.call("readDeadLetter", { params: v.params });
  const names = await tenantNames(v, [entry.tenantId]);
  const { id, jobId, jobTypeName, queue, attempts, errorMessage, failedAt, retriedAt, retriedJobId } = entry;
  return {
    title: jobTypeName,
    actions: retriedJobId ? undefined : retryButton(v, entry, names.get(entry.tenantId ?? ""), "primary"),
    body: [
      <Card title={<Badge tone={retriedJobId ? "ok" : "bad"}>{retriedJobId ? t.retried : t.isOpen}</Badge>}>
        {factList([
          ["Id", <CopyValue v={v} value={id} />],
          timelineFact(v, { jobId }),
          [
            t.job,
            <a href={`jobs/${jobId}`}>
              <code>{shortId(jobId)}</code>
            </a>,
          ],
          [j.queue, queue],
          [j.attempts, number(v, attempts)],
          [t.failed, <Time v={v} at={failedAt} />],
          retriedJobId && [
            t.newJob,
            <>
              <a href={`jobs/${retriedJobId}`}>
                <code>{shortId(retriedJobId)}</code>
              </a>{" "}
              <Time v={v} at={retriedAt} />
            </>,
          ],
        ])}
      </Card>,
      <div class="grid-2">
        <Card title={t.error}>
          <pre class="code-block error-text" tabindex={0}>{errorMessage ?? t.noError}</pre>
        </Card>
        <Card title={j.args}>
          <JsonText value={entry.serializedArgs} label={j.args} />
        </Card>
      </div>,
    ],
  };
}

export const deadLetterPages: ConsolePage[] = [
  { path: "dead-letters", get: groupsPage },
  { path: "dead-letters/list", get: deadLettersPage, bulk: deadLetterActions },
  retryManyPage,
  purgePage,
  { path: "dead-letters/{id}", get: deadLetterPage },
  action(
    "dead-letters/{id}/retry",
    "retryDeadLetter",
    (v, { id }) => done(`jobs/${id}`, deadLetterTexts[v.locale].retryDone),
  ),
];
