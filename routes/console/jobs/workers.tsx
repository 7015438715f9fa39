import { areasOfProgram } from "../../../domain/jobs/engine/lease.ts";
import { Card, Empty, Notice } from "../components/notice.tsx";
import { dataTable, LivePart } from "../components/table.tsx";
import { Badge, number, shortId, Time } from "../components/values.tsx";
import type { Row } from "../shared/operations.ts";
import { type ConsolePage, isOpen, type Visit } from "../shared/page.ts";
import { HealthTabs } from "./health_tabs.tsx";
import { PauseBanner } from "./pauses.tsx";
import { workerTexts } from "./worker_texts.ts";

type Worker = Row<"listJobWorkers">;

/** The workers of the service and of callers: host, program, and the jobs that they hold. */
export const workersPage: ConsolePage = {
  path: "workers",
  permissions: ["admin:system"],
  async get(v) {
    const t = workerTexts[v.locale];
    const [workers, pauses] = isOpen(v, "jobs")
      ? await Promise.all([v.api.call("listJobWorkers"), v.api.call("listJobPauses")])
      : [(await v.api.call("readOverview")).workers ?? [], []];
    const own = workers.filter(({ isRemote }) => !isRemote);
    const byAreas = Map.groupBy(own, ({ program }) => areasOfProgram(program));
    return {
      title: t.title,
      body: (
        <>
          <HealthTabs v={v} current="workers" />
          <LivePart v={v} id="workers" everySeconds={5}>
            <PauseBanner v={v} pauses={pauses} />
            {byAreas.size > 1 && (
              <Notice tone="warn">
                {t.otherAreas(
                  [...byAreas].map(([areas, on]) => `${on.map(({ host }) => host).join(", ")}: ${areas}`)
                    .join("; "),
                )}
              </Notice>
            )}
            <Card>
              {dataTable(t.caption, workers, <Empty icon="alert" title={t.none}>{t.noneText}</Empty>, [
                {
                  head: t.worker,
                  cell: ({ host, id }) => (
                    <>
                      <span class="break">{host}</span>
                      <span class="sub">
                        <code title={id}>{shortId(id)}</code>
                      </span>
                    </>
                  ),
                },
                {
                  head: t.kind,
                  cell: ({ isRemote }) => (
                    <Badge tone={isRemote ? "info" : "idle"}>{isRemote ? t.remote : t.embedded}</Badge>
                  ),
                },
                {
                  head: t.program,
                  cell: ({ program }) =>
                    program
                      ? <span class="break">{program}</span>
                      : <span class="muted">{t.unknownProgram}</span>,
                },
                { head: t.holds, cell: (worker) => <Held v={v} worker={worker} /> },
                { head: t.since, cell: ({ startedAt }) => <Time v={v} at={startedAt} />, wideOnly: true },
                { head: t.heartbeat, cell: ({ heartbeatAt }) => <Time v={v} at={heartbeatAt} /> },
              ])}
            </Card>
          </LivePart>
        </>
      ),
    };
  },
};

/** The jobs that a worker holds, the longest first. */
function Held({ v, worker: { holds, jobs } }: { v: Visit; worker: Worker }) {
  const t = workerTexts[v.locale];
  if (holds === 0) return <span class="muted">{t.nothing}</span>;
  return (
    <ul class="bare-list">
      {jobs.map(({ id, jobTypeName, queue, startedAt }) => (
        <li>
          <a href={`jobs/${id}`}>{jobTypeName}</a>
          <span class="sub">
            {queue}
            {startedAt && (
              <>
                · <Time v={v} at={startedAt} />
              </>
            )}
          </span>
        </li>
      ))}
      {holds > jobs.length && <li class="muted">{t.more(holds - jobs.length)} ({number(v, holds)})</li>}
    </ul>
  );
}
