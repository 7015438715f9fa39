import { Card, Empty } from "../components/notice.tsx";
import { dataTable } from "../components/table.tsx";
import { Badge, duration, number } from "../components/values.tsx";
import type { Row } from "../shared/operations.ts";
import type { View, Visit } from "../shared/page.ts";
import { PauseBanner, pauseButton, ResumeButton } from "./pauses.tsx";
import { typeTexts } from "./texts.ts";

/** The job types that the viewer can enqueue, with their limits and pauses. */
export async function typesPage(v: Visit): Promise<View> {
  const t = typeTexts[v.locale];
  const [types, pauses] = await Promise.all([v.api.call("listJobTypes"), v.api.call("listJobPauses")]);
  return {
    title: t.title,
    body: (
      <>
        <PauseBanner v={v} pauses={pauses} />
        <Card>
          {dataTable(t.caption, types, <Empty icon="jobs" title={t.none}>{t.noneText}</Empty>, [
            { head: t.name, cell: ({ name }) => <a href={typePath(name)}>{name}</a> },
            {
              head: t.status,
              cell: ({ pause }) =>
                pause ? <Badge tone="warn">{t.paused}</Badge> : <Badge tone="ok">{t.running}</Badge>,
            },
            { head: t.timeout, align: "end", cell: ({ timeoutMs }) => duration(v, timeoutMs) },
            { head: t.retries, align: "end", cell: ({ maxRetries }) => number(v, maxRetries) },
            {
              head: t.atOnce,
              align: "end",
              cell: ({ concurrency }) => concurrency === null ? "–" : number(v, concurrency),
              wideOnly: true,
            },
            {
              head: t.limit,
              cell: ({ rateLimit }) => rateLimit ? t.limitOf(rateLimit.count, rateLimit.perSeconds) : "–",
              wideOnly: true,
            },
            { head: t.pause, cell: (type) => <PauseButton v={v} type={type} /> },
          ])}
        </Card>
      </>
    ),
  };
}

export const typePath = (name: string): string => `job-types/${encodeURIComponent(name)}`;

/** The button that pauses or resumes a job type, for viewers who may. */
export const PauseButton = ({ v, type: { name, pause } }: {
  v: Visit;
  type: Pick<Row<"listJobTypes">, "name" | "pause">;
}) => pause ? <ResumeButton v={v} pause={pause} /> : <>{pauseButton(v, "type", name)}</>;
