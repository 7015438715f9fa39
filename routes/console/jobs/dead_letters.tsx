import { actionButton, buttonLink, moreMenu } from "../components/forms.tsx";
import { tenantNames } from "../shared/access_queries.ts";
import { periodOf } from "../components/date_inputs.ts";
import {
  actionsColumn,
  choice,
  hidden,
  linkColumn,
  list,
  listView,
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

/** The buttons that retry and purge many dead letters, or those of the group that `search` selects. */
function bulkButtons(v: Visit, search = "") {
  const t = deadLetterTexts[v.locale];
  const purge = buttonLink(`dead-letters/purge${search}`, search ? t.purgeGroup : t.purge, {
    icon: "trash",
    tone: "danger",
  });
  return [
    buttonLink(`dead-letters/retry${search}`, search ? t.retryGroup : t.retryMany, {
      icon: "retry",
      tone: search ? "primary" : "plain",
    }),
    moreMenu(v, purge),
  ];
}

/** Open dead letters, grouped by job type and error. Each group shows the error of one of them. */
async function groupsPage(v: Visit): Promise<View> {
  const t = deadLetterTexts[v.locale];
  const tenantId = v.query.get("tenantId");
  const searchFor = ({ jobTypeName, errorPattern }: Row<"listDeadLetterGroups">) =>
    searchOf({ jobTypeName, errorPattern, tenantId });
  return await listView(v, "listDeadLetterGroups", {
    title: t.title,
    actions: bulkButtons(v),
    top: [<PauseBanner v={v} />, viewTabs(v, "dead-letters")],
    caption: t.groupsCaption,
    empty: [t.empty, t.emptyText],
    everySeconds: 10,
    columns: [
      {
        head: t.error,
        cell: (group) => (
          <a class="clamp" href={`dead-letters/list${searchFor(group)}`} title={group.exampleError ?? ""}>
            {group.exampleError || <em>{t.noError}</em>}
          </a>
        ),
        below: [[t.jobType, ({ jobTypeName }) => jobTypeName]],
      },
      { head: t.open, align: "end", cell: ({ count }) => number(v, count), onPhone: true },
      timeColumn(v, t.first, "firstFailedAt", { wideOnly: true }),
      timeColumn(v, t.last, "lastFailedAt"),
      actionsColumn(v, (group) => (
        group.errorPattern && (
          <span class="row end">
            {buttonLink(`dead-letters/retry${searchFor(group)}`, t.retryGroup, { icon: "retry" })}
            {buttonLink(`dead-letters/purge${searchFor(group)}`, t.purgeGroup, { icon: "trash" })}
          </span>
        )
      )),
    ],
  });
}

/** A list of dead letters. The query may limit it to one group. */
async function deadLettersPage(v: Visit): Promise<View> {
  const t = deadLetterTexts[v.locale];
  const [jobTypeName, errorPattern] = [v.query.get("jobTypeName"), v.query.get("errorPattern")];
  const { fromDate: failedFrom, toDate: failedTo } = periodOf(v);
  const page = await v.api.list("listDeadLetters", v, { failedFrom, failedTo });
  const names = await tenantNames(v, page.items.map(({ tenantId }) => tenantId));
  const group = errorPattern && searchOf({ jobTypeName, errorPattern, tenantId: v.query.get("tenantId") });
  return {
    title: page.items[0] && group ? t.groupOf(page.items[0].jobTypeName) : jobTypeName ?? t.title,
    crumbs: group || jobTypeName ? undefined : [],
    actions: bulkButtons(v, group || undefined),
    body: list(v, page, {
      top: [<PauseBanner v={v} />, !group && viewTabs(v, "dead-letters/list")],
      above: <SearchedNote v={v} from={t.from} />,
      caption: t.caption,
      empty: [t.empty, t.emptyText],
      filters: [
        hidden("errorPattern"),
        text("jobTypeName", t.jobType, { maxlength: 200 }),
        text("errorContains", t.errorContains, { maxlength: 500 }),
        ...period(t),
        choice("isRetried", t.show, { false: t.onlyOpen, true: t.onlyRetried }, jobTexts[v.locale].all),
      ],
      everySeconds: 10,
      bulk: deadLetterActions,
      columns: [
        linkColumn(t.job, ({ id, jobTypeName }) => [`dead-letters/${id}`, jobTypeName], {
          below: [[t.id, ({ id }) => <code title={id}>{shortId(id)}</code>]],
        }),
        {
          head: t.error,
          cell: ({ errorMessage }) => <span class="clamp">{errorMessage ?? t.noError}</span>,
        },
        ...await tenantColumn(v, page.items),
        { head: t.queue, cell: ({ queue }) => queue, wideOnly: true },
        { head: t.attempts, align: "end", cell: ({ attempts }) => number(v, attempts), wideOnly: true },
        timeColumn(v, t.failed, "failedAt"),
        {
          head: t.status,
          cell: (row) =>
            row.retriedJobId
              ? <a href={`jobs/${row.retriedJobId}`}>{t.retried}</a>
              : retryButton(v, row, names),
        },
      ],
    }),
  };
}

const retryButton = (
  v: Visit,
  { id, jobTypeName, tenantId }: Pick<Row<"listDeadLetters">, "id" | "jobTypeName" | "tenantId">,
  names: Map<string, string>,
  tone: "primary" | "plain" = "plain",
) =>
  actionButton(v, `dead-letters/${id}/retry`, deadLetterTexts[v.locale].retry, {
    icon: "retry",
    tone,
    confirm: jobTexts[v.locale].againConfirm(
      jobTypeName,
      placeOf(v, names.get(tenantId ?? "") ?? tenantId),
    ),
  });

/** One dead letter: its job, error, arguments and retry. */
async function deadLetterPage(v: Visit): Promise<View> {
  const t = deadLetterTexts[v.locale];
  const { args } = jobTexts[v.locale];
  const entry = await v.api.call("readDeadLetter", { params: v.params });
  const { id, jobId, jobTypeName, queue, attempts, errorMessage, failedAt, retriedAt, retriedJobId } = entry;
  const jobLink = (id: string) => <a href={`jobs/${id}`}>{shortId(id)}</a>;
  return {
    title: jobTypeName,
    actions: !retriedJobId && retryButton(v, entry, await tenantNames(v, [entry.tenantId]), "primary"),
    body: [
      <Card title={<Badge tone={retriedJobId ? "ok" : "bad"}>{retriedJobId ? t.retried : t.isOpen}</Badge>}>
        {factList([
          [t.id, <CopyValue v={v} value={id} />],
          timelineFact(v, { jobId }),
          [t.job, jobLink(jobId)],
          [t.queue, queue],
          [t.attempts, number(v, attempts)],
          [t.failed, <Time v={v} at={failedAt} />],
          retriedJobId && [t.newJob, [jobLink(retriedJobId), " ", <Time v={v} at={retriedAt} />]],
        ])}
      </Card>,
      <div class="grid-2">
        <Card title={t.error}>
          <pre class="code-block error-text" tabindex={0}>{errorMessage ?? t.noError}</pre>
        </Card>
        <Card title={args}>
          <JsonText value={entry.serializedArgs} label={args} />
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
