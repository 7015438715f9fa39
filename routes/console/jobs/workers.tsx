import type { Child } from "hono/jsx";
import { areasOfProgram } from "../../../domain/jobs/engine/lease.ts";
import { alertRules } from "../../../domain/records/alert_rules.ts";
import { labelIn } from "../../../domain/records/labels.ts";
import { Card, Empty, Notice } from "../components/notice.tsx";
import { dataTable, LivePart } from "../components/table.tsx";
import { pageTabs } from "../components/tabs.tsx";
import { Badge, shortId, Time } from "../components/values.tsx";
import { searchOf } from "../shared/api.ts";
import { defineTexts } from "../shared/languages.ts";
import type { Row } from "../shared/operations.ts";
import { type ConsolePage, isOpen, may, type Visit } from "../shared/page.ts";
import { PauseBanner } from "./pauses.tsx";
import { deployTexts, workerTexts } from "./worker_texts.ts";

export const healthTexts = defineTexts({
  tabs: ["State of the service", "Estado do serviço"],
  database: ["Database", "Banco de dados"],
});

/** Links between workers, deploys, the database and alert rules; nothing if the viewer may open only one of them. */
export function HealthTabs({ v, current }: { v: Visit; current: string }) {
  const t = healthTexts[v.locale];
  if (!may(v.viewer, "admin:system")) return null;
  return pageTabs(t.tabs, current, [
    ["workers", workerTexts[v.locale].title],
    ["deploys", deployTexts[v.locale].title],
    ["workers/database", t.database],
    v.viewer.tenant !== null && may(v.viewer, "manage:webhooks") &&
    ["alert-rules", labelIn(alertRules.labels.many ?? "", v.locale)],
  ]);
}

type Worker = Row<"listJobWorkers">;

/**
 * The workers of the service and of callers by host: program, and the jobs that they hold. The parameters `host` and
 * `worker` limit the page to one, with the jobs that it holds.
 */
export const workersPage: ConsolePage = {
  path: "workers",
  permissions: ["admin:system"],
  async get(v) {
    const t = workerTexts[v.locale];
    const all = isOpen(v, "jobs")
      ? await v.api.call("listJobWorkers")
      : (await v.api.call("readOverview")).workers ?? [];
    const byAreas = Map.groupBy(
      all.filter(({ isRemote }) => !isRemote),
      ({ program }) => areasOfProgram(program),
    );
    const [host, id] = [v.query.get("host"), v.query.get("worker")];
    const isOne = host !== null || id !== null;
    const workers = all.filter((worker) => (!host || worker.host === host) && (!id || worker.id === id))
      .toSorted((a, b) => a.host.localeCompare(b.host));
    const empty = isOne
      ? <Empty icon="alert" title={t.ended}>{t.endedText}</Empty>
      : <Empty icon="alert" title={t.none}>{t.noneText}</Empty>;
    return {
      title: host ?? (id ? `${t.worker} ${shortId(id)}` : t.title),
      ...isOne && { crumbs: [{ href: "workers", label: t.title }] },
      body: [
        !isOne && <HealthTabs v={v} current="workers" />,
        <LivePart v={v} id="workers" everySeconds={5}>
          {isOpen(v, "jobs") && <PauseBanner v={v} />}
          {byAreas.size > 1 && (
            <Notice tone="warn">
              {t.otherAreas(
                [...byAreas].map(([areas, on]) => `${on.map(({ host }) => host).join(", ")}: ${areas}`)
                  .join("; "),
              )}
            </Notice>
          )}
          <Card>{workersTable(v, workers, isOne, empty)}</Card>
          {isOne && workers.length > 0 && isOpen(v, "jobs") && (
            <Card title={t.jobs}>{jobsOf(v, workers)}</Card>
          )}
        </LivePart>,
      ],
    };
  },
};

/** Workers below the names of their hosts. */
function workersTable(v: Visit, workers: Worker[], isOne: boolean, empty: Child) {
  const t = workerTexts[v.locale];
  const heldColumn = { head: t.holds, cell: (worker: Worker) => <Held v={v} worker={worker} /> };
  return dataTable(
    t.caption,
    workers,
    empty,
    [
      {
        head: t.worker,
        cell: ({ id }) => <a href={`workers${searchOf({ worker: id })}`} title={id}>{shortId(id)}</a>,
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
          program ? <span class="break">{program}</span> : <span class="muted">{t.unknownProgram}</span>,
      },
      ...isOne ? [] : [heldColumn],
      { head: t.since, cell: ({ startedAt }) => <Time v={v} at={startedAt} />, wideOnly: true },
      { head: t.heartbeat, cell: ({ heartbeatAt }) => <Time v={v} at={heartbeatAt} /> },
    ],
    undefined,
    {
      groupOf: ({ host }) => host,
      heading: (host, own) => (
        <>
          <a href={`workers${searchOf({ host })}`}>{host}</a>{" "}
          <span class="muted">{t.ofHost(own.length, held(own))}</span>
        </>
      ),
    },
  );
}

const held = (workers: Worker[]): number => workers.reduce((sum, { holds }) => sum + holds, 0);

/** The jobs that some workers hold, the longest first. */
function jobsOf(v: Visit, workers: Worker[]) {
  const t = workerTexts[v.locale];
  const rows = workers.flatMap(({ id, jobs }) => jobs.map((job) => ({ ...job, worker: id })))
    .toSorted((a, b) => (a.startedAt ?? "").localeCompare(b.startedAt ?? ""));
  return [
    dataTable(t.jobs, rows, <Empty icon="jobs" title={t.nothing} />, [
      { head: t.job, cell: ({ id, jobTypeName }) => <a href={`jobs/${id}`}>{jobTypeName}</a> },
      { head: t.queue, cell: ({ queue }) => queue },
      {
        head: t.worker,
        cell: ({ worker }) => <a href={`workers${searchOf({ worker })}`}>{shortId(worker)}</a>,
      },
      { head: t.since, cell: ({ startedAt }) => <Time v={v} at={startedAt} /> },
    ]),
    held(workers) > rows.length && <p class="muted">{t.more(held(workers) - rows.length)}</p>,
  ];
}

/** The jobs that a worker has held longest. */
function Held({ v, worker: { id, holds, jobs } }: { v: Visit; worker: Worker }) {
  const t = workerTexts[v.locale];
  if (holds === 0) return <span class="muted">{t.nothing}</span>;
  const shown = jobs.slice(0, SHOWN);
  return (
    <ul class="bare-list">
      {shown.map(({ id, jobTypeName, startedAt }) => (
        <li>
          <a href={`jobs/${id}`}>{jobTypeName}</a> <Time v={v} at={startedAt} />
        </li>
      ))}
      {holds > shown.length && (
        <li>
          <a href={`workers${searchOf({ worker: id })}`}>{t.more(holds - shown.length)}</a>
        </li>
      )}
    </ul>
  );
}

const SHOWN = 3;
