import { tenantNames } from "../shared/access_queries.ts";
import { actionButton, buttonLink, deleteButton } from "../components/forms.tsx";
import { Card, Empty } from "../components/notice.tsx";
import { LivePart, Pager, tableCard } from "../components/table.tsx";
import {
  CopyValue,
  duration,
  exactTime,
  type Fact,
  factList,
  JsonText,
  number,
  shortId,
  Time,
  timelineFact,
  timeOfDay,
} from "../components/values.tsx";
import { inTenantOf, placeOf } from "../shared/scope.ts";
import { action, actionsOf, done } from "../shared/actions.ts";
import { orNull, type Page, searchOf } from "../shared/api.ts";
import type { Answer, Row } from "../shared/operations.ts";
import { type ConsolePage, may, type View, type Visit } from "../shared/page.ts";
import { ENDED, type Job, jobColumns, jobStates } from "./list.tsx";
import { holding, PauseBanner } from "./pauses.tsx";
import { workerTexts } from "./worker_texts.ts";
import { queuePath, recurringPath, typePath } from "../shared/job_paths.ts";
import { jobOriginLabels, jobTexts } from "./texts.ts";
import { priorityLabels } from "../shared/labels.ts";
import { defineStates } from "../components/states.tsx";

const LOG_LINES = 100;
const CANCELLABLE: ReadonlySet<Job["status"]> = new Set([
  "Enqueued",
  "Scheduled",
  "AwaitingParent",
  "Failed",
]);

/** One job: its details, its attempts with error, output, progress and log, and its continuations. */
async function jobPage(v: Visit): Promise<View> {
  const t = jobTexts[v.locale];
  const { params } = v;
  const [job, executions, continuations, types] = await Promise.all([
    v.api.call("readJob", { params }),
    v.api.list("listJobExecutions", v),
    v.api.call("listJobContinuations", { params }),
    v.api.call("listJobTypes"),
  ]);
  const shownLog = v.query.get("log") ?? String(executions.items[0]?.attemptNumber ?? 0);
  const [log, tenants] = await Promise.all([readLog(v, shownLog), tenantNames(v, [job.tenantId])]);
  return {
    title: job.jobTypeName,
    scope: job.tenantId === null ? undefined : tenants.get(job.tenantId),
    actions: types.some(({ name }) => name === job.jobTypeName)
      ? buttonLink(inTenantOf(v, job.tenantId, `jobs/new?copy=${job.id}`), t.enqueueCopy, { icon: "plus" })
      : undefined,
    body: (
      <LivePart v={v} id="job" {...ENDED.includes(job.status) ? {} : { everySeconds: 2 }}>
        {!ENDED.includes(job.status) && <PauseBanner v={v} fits={holding(job)} />}
        <Card
          title={jobStates.badge(v, job.status)}
          actions={<JobActions v={v} job={job} tenant={tenants.get(job.tenantId ?? "")} />}
        >
          <JobFacts v={v} job={job} />
        </Card>
        <div class="grid-2">
          <Attempts v={v} job={job} executions={executions} log={log} shownLog={Number(shownLog)} />
          <Card title={t.args}>
            <JsonText value={job.serializedArgs} label={t.args} />
          </Card>
        </div>
        {continuations.length > 0 &&
          tableCard(t.continuations, continuations, null, jobColumns(v), { caption: t.continuationsCaption })}
      </LivePart>
    ),
  };
}

/** The log of an attempt; null if the query names an attempt that does not exist. */
async function readLog(v: Visit, attemptNumber: string): Promise<Page<LogLine> | null> {
  if (!/^[1-9]\d{0,8}$/.test(attemptNumber)) return null;
  const params = { id: v.params.id, attemptNumber };
  return await orNull(v.api.call("listJobLogLines", { params, query: { pageSize: LOG_LINES } }));
}

function JobActions({ v, job, tenant }: { v: Visit; job: Answer<"readJob">; tenant: string | undefined }) {
  const t = jobTexts[v.locale];
  const place = placeOf(v, tenant ?? job.tenantId);
  const again = t.againConfirm(job.jobTypeName, place);
  const here = `jobs/${job.id}`;
  const { deadLetter } = job;
  const runsAgain = ENDED.includes(job.status) && !deadLetter?.retriedJobId;
  return (
    <>
      {runsAgain && [
        actionButton(v, `${here}/retry`, t.runAgain, { icon: "retry", tone: "primary", confirm: again }),
        buttonLink(`${here}/run-again`, t.runChanged),
      ]}
      {deadLetter && !deadLetter.retriedJobId &&
        deleteButton(v, `${here}/discard`, t.discardConfirm(job.jobTypeName, place), { label: t.discard })}
      {job.status === "Processing" && !job.cancelRequestedAt &&
        actionButton(v, `${here}/request-cancel`, t.stopJob, {
          icon: "close",
          tone: "danger",
          confirm: t.stopConfirm(job.jobTypeName, place),
        })}
      {job.nextRetryAt &&
        actionButton(v, `${here}/retry-now`, t.retryNow, { icon: "retry", tone: "primary", confirm: again })}
      {CANCELLABLE.has(job.status) &&
        deleteButton(v, `${here}/cancel`, t.cancelConfirm(job.jobTypeName, place), {
          label: t.cancelJob,
          icon: "close",
        })}
    </>
  );
}

function JobFacts({ v, job }: { v: Visit; job: Answer<"readJob"> }) {
  const t = jobTexts[v.locale];
  const due = job.nextRetryAt ?? job.scheduledAt;
  const { deadLetter, pause, recurringJobId, tenantId, createdBy } = job;
  const creator = createdBy ? job.names[createdBy] : undefined;
  return factList([
    ["Id", <CopyValue v={v} value={job.id} />],
    timelineFact(v, { jobId: job.id }, job.traceId),
    [t.jobType, <a href={typePath(job.jobTypeName)}>{job.jobTypeName}</a>],
    [t.queue, <a href={queuePath(job.queue)}>{job.queue}</a>],
    [t.priority, priorityLabels[v.locale][job.priority]],
    [t.trigger, jobOriginLabels[v.locale][job.type]],
    [t.attempts, t.of(job.attempts, job.maxRetries + 1)],
    [t.created, <Time v={v} at={job.createdAt} />],
    [
      t.createdBy,
      creator === undefined
        ? createdBy ? <CopyValue v={v} value={createdBy} shown={shortId(createdBy)} /> : t.service
        : may(v.viewer, "read:users")
        ? <a href={`users/${createdBy}`}>{creator}</a>
        : creator,
    ],
    [t.started, <Time v={v} at={job.startedAt} />],
    [t.ended, <Time v={v} at={job.completedAt} />],
    job.cancelRequestedAt && [t.stopRequested, <Time v={v} at={job.cancelRequestedAt} />],
    deadLetter?.retriedJobId && [
      t.ranAgain,
      <>
        <a href={`jobs/${deadLetter.retriedJobId}`}>{shortId(deadLetter.retriedJobId)}</a>{" "}
        <Time v={v} at={deadLetter.retriedAt} />
      </>,
    ],
    job.waitReason && [t.waitReason, job.waitReason],
    pause && [pause.kind === "queue" ? t.queuePaused : t.typePaused, pause.reason ?? t.paused],
    due && [job.nextRetryAt ? t.nextRetry : t.due, <Time v={v} at={due} />],
    job.argsTypeName && [t.argsType, job.argsTypeName],
    job.uniqueKey && [t.uniqueKey, <code>{job.uniqueKey}</code>],
    job.batchId && [t.batch, <a href={`batches/${job.batchId}`}>{shortId(job.batchId)}</a>],
    recurringJobId && [
      t.recurring,
      <a href={recurringPath(v, { jobId: recurringJobId, tenantId: job.tenantId })}>{recurringJobId}</a>,
    ],
    ...job.parentJobIds.map((id): Fact => [
      t.parent,
      <a href={`jobs/${id}`}>
        <code>{shortId(id)}</code>
      </a>,
    ]),
    tenantId && tenantId !== v.viewer.tenant?.id && [
      t.tenant,
      job.names[tenantId] ?? <CopyValue v={v} value={tenantId} shown={shortId(tenantId)} />,
    ],
  ]);
}

export const jobPages: ConsolePage[] = [
  { path: "jobs/{id}", get: jobPage },
  ...actionsOf("jobs/{id}", jobTexts, {
    cancel: ["cancelJob", "cancelled"],
    "retry-now": ["retryJobNow", "retriedNow"],
    "request-cancel": ["requestJobCancel", "stopAsked"],
  }),
  action("jobs/{id}/retry", "retryJob", (v, { id }) => done(`jobs/${id}`, jobTexts[v.locale].queuedAgain)),
  {
    path: "jobs/{id}/discard",
    async post(v) {
      const { deadLetter } = await v.api.call("readJob", { params: v.params });
      if (deadLetter) await v.api.call("discardDeadLetter", { params: { id: deadLetter.id } });
      return done("dead-letters", jobTexts[v.locale].discarded);
    },
  },
];

type Execution = Row<"listJobExecutions">;
type LogLine = Row<"listJobLogLines">;

const attemptStates = defineStates<Execution["status"]>({
  Processing: ["info", "Processing", "Em curso"],
  Succeeded: ["ok", "Succeeded", "Concluída"],
  Failed: ["bad", "Failed", "Falhou"],
  Abandoned: ["warn", "Abandoned", "Abandonada"],
});

/** The attempts of a job, newest first, with error, output and progress. `log` belongs to attempt `shownLog`. */
function Attempts({ v, job, executions, log, shownLog }: {
  v: Visit;
  job: Job;
  executions: Page<Execution>;
  log: Page<LogLine> | null;
  shownLog: number;
}) {
  const t = jobTexts[v.locale];
  return (
    <Card title={t.attempts}>
      {executions.items.length === 0 && <Empty icon="jobs" title={t.noAttempts}>{t.noAttemptsText}</Empty>}
      <ol class="timeline" aria-label={t.attempts}>
        {executions.items.map((execution) => (
          <li class={`tone-${attemptStates.tone(execution.status)}`}>
            <div class="row">
              <strong>{t.attempt(execution.attemptNumber)}</strong>
              {attemptStates.badge(v, execution.status)}
              <span class="muted">
                {execution.durationMs === null
                  ? `${t.startedAt} `
                  : `${t.took(duration(v, execution.durationMs))} · `}
                <Time v={v} at={execution.startedAt} />
              </span>
            </div>
            <AttemptResult v={v} execution={execution} />
            {execution.attemptNumber === shownLog
              ? <Log v={v} log={log} />
              : <a href={`jobs/${job.id}?log=${execution.attemptNumber}`}>{t.showLog}</a>}
            <span class="muted row">
              {workerTexts[v.locale].worker}
              {may(v.viewer, "admin:system")
                ? (
                  <a href={`workers${searchOf({ worker: execution.workerId })}`} title={execution.workerId}>
                    {shortId(execution.workerId)}
                  </a>
                )
                : <CopyValue v={v} value={execution.workerId} shown={shortId(execution.workerId)} />}
            </span>
          </li>
        ))}
      </ol>
      {executions.totalPages > 1 && <Pager v={v} path={`jobs/${job.id}`} page={executions} />}
    </Card>
  );
}

/** Progress, error and output of an attempt. */
function AttemptResult({ v, execution }: { v: Visit; execution: Execution }) {
  const t = jobTexts[v.locale];
  const { status, progressPercent, progressNote, errorMessage, output, attemptNumber } = execution;
  return (
    <>
      {progressPercent !== null && status !== "Succeeded" && (
        <div>
          <progress
            max={100}
            value={progressPercent}
            aria-label={`${t.progress}, ${t.attempt(attemptNumber)}`}
          />
          <span class="muted">{`${number(v, Math.round(progressPercent))} % ${progressNote ?? ""}`}</span>
        </div>
      )}
      {errorMessage && <pre class="code-block error-text" tabindex={0}>{errorMessage}</pre>}
      {output !== null && <JsonText value={output} label={`${t.output}, ${t.attempt(attemptNumber)}`} />}
    </>
  );
}

function Log({ v, log }: { v: Visit; log: Page<LogLine> | null }) {
  const t = jobTexts[v.locale];
  if (!log || log.items.length === 0) return <span class="muted">{t.noLog}</span>;
  return (
    <div>
      <ol class="log-lines" aria-label={t.log} tabindex={0}>
        {log.items.map(({ at, level, message, fields }) => (
          <li class={`level-${/^(debug|info|warn|error)$/.exec(level)?.[0] ?? "info"}`}>
            <time datetime={at} title={exactTime(v, at)}>{timeOfDay(v, at)}</time> <b>{level}</b> {message}
            {fields && Object.keys(fields).length > 0 && <code>{` ${JSON.stringify(fields)}`}</code>}
          </li>
        ))}
      </ol>
      {log.hasNext && <span class="muted">{t.moreLog(log.items.length, log.totalCount)}</span>}
    </div>
  );
}
