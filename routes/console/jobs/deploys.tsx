import { Fields, FoldedForm } from "../components/fields.tsx";
import { linkColumn, listView, timeColumn } from "../components/list.tsx";
import { Card, Empty } from "../components/notice.tsx";
import { dataTable } from "../components/table.tsx";
import { tabBar } from "../components/tabs.tsx";
import { Person, userNames } from "../components/user_names.tsx";
import { Badge, clockTime, duration, number, percent, Time } from "../components/values.tsx";
import { timeIn } from "../components/date_inputs.ts";
import { done, formPage, sendTo } from "../shared/actions.ts";
import type { Answer } from "../shared/operations.ts";
import { type ConsolePage, field, type View, type Visit } from "../shared/page.ts";
import { HealthTabs } from "./workers.tsx";
import { deployTexts, workerTexts } from "./worker_texts.ts";
import { typePath } from "../shared/job_paths.ts";

const HOURS = [1, 4, 24, 168];
/** A p95 that grew by less is within the width of the buckets in which times are counted. */
const SLOWER = 1.15;
type Type = Answer<"compareDeployMark">["types"][number];
type Figures = NonNullable<Type["before"]>;

const crumb = (v: Visit) => ({ href: "workers", label: workerTexts[v.locale].title });

/** The marks of deploys, the form that makes one, and the comparison of jobs before and after a mark. */
export const deployPages: ConsolePage[] = [
  formPage({
    path: "deploys",
    permissions: ["admin:system"],
    async show(v, sent) {
      const t = deployTexts[v.locale];
      const f = new Fields(v, sent, "createDeployMark");
      return await listView(v, "listDeployMarks", {
        title: t.title,
        crumbs: [crumb(v)],
        top: [
          <HealthTabs v={v} current="deploys" />,
          <p class="muted">{t.intro}</p>,
          <Card>
            <FoldedForm fields={f} label={t.add} action="deploys" submit={t.add}>
              <div class="pair">
                {f.text("label", t.name)}
                {f.text("at", t.at, { type: "datetime-local" })}
              </div>
            </FoldedForm>
          </Card>,
        ],
        caption: t.caption,
        empty: [t.empty],
        columns: [
          linkColumn(t.name, ({ id, label }) => [`deploys/${id}`, label], {
            below: [[t.origin, ({ version }) => version && t.byService]],
          }),
          timeColumn(v, t.time, "at"),
        ],
      });
    },
    send: sendTo(
      "createDeployMark",
      (form, v) => ({ label: field(form, "label"), at: timeIn(v, form, "at") }),
      (v, { id }) => done(`deploys/${id}`, deployTexts[v.locale].added),
    ),
  }),
  { path: "deploys/{id}", permissions: ["admin:system"], get: comparisonPage },
];

async function comparisonPage(v: Visit): Promise<View> {
  const t = deployTexts[v.locale];
  const hours = HOURS.find((hours) => String(hours) === v.query.get("hours")) ?? 4;
  const { mark, before, after, types } = await v.api.call("compareDeployMark", {
    params: v.params,
    query: { hours, tenantId: v.query.get("tenantId") },
  });
  const names = await userNames(v, [mark.createdBy]);
  const spanOf = ({ from, to }: typeof before) => t.span(clockTime(v, from), clockTime(v, to));
  const cells = (head: string, show: (figures: Figures) => string, isWorse?: (type: Type) => boolean) => [
    {
      head: `${head}: ${t.before}`,
      align: "end" as const,
      cell: ({ before }: Type) => before ? show(before) : "–",
    },
    {
      head: t.after,
      align: "end" as const,
      cell: (type: Type) => {
        const text = type.after ? show(type.after) : "–";
        return isWorse?.(type) ? <Badge tone="bad">{text}</Badge> : text;
      },
    },
  ];
  return {
    title: mark.label,
    crumbs: [crumb(v), { href: "deploys", label: t.title }],
    body: [
      <p>
        <Time v={v} at={mark.at} /> · {clockTime(v, mark.at)} ·{" "}
        {mark.createdBy === null ? t.byService : <Person v={v} names={names} id={mark.createdBy} />}
      </p>,
      tabBar(
        t.length,
        HOURS.map((each) => ({
          href: `deploys/${mark.id}?hours=${each}`,
          label: t.hours(each),
          isCurrent: each === hours,
        })),
      ),
      <p class="muted">
        {t.before}: {spanOf(before)} · {t.after}: {spanOf(after)}
      </p>,
      <Card>
        {dataTable(t.compareCaption, types, <Empty icon="jobs" title={t.none}>{t.noneText}</Empty>, [
          linkColumn<Type>(t.jobType, ({ jobTypeName }) => [typePath(jobTypeName), jobTypeName]),
          ...cells(t.attempts, ({ succeeded, failed }) => number(v, succeeded + failed)),
          ...cells(
            t.failureRate,
            ({ failureRate }) => failureRate === null ? "–" : percent(v, failureRate),
            ({ before, after }) => (after?.failureRate ?? 0) > (before?.failureRate ?? 0),
          ),
          ...cells(
            t.p95,
            ({ durationMs }) => duration(v, durationMs?.p95),
            ({ before, after }) =>
              (after?.durationMs?.p95 ?? 0) > SLOWER * (before?.durationMs?.p95 ?? Infinity),
          ),
        ])}
      </Card>,
    ],
  };
}
