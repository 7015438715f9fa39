import { Card, Empty } from "../components/notice.tsx";
import { Pager } from "../components/table.tsx";
import {
  CopyValue,
  duration,
  exactTime,
  JsonText,
  number,
  shortId,
  Time,
  timeOfDay,
} from "../components/values.tsx";
import type { Page } from "../shared/api.ts";
import type { Row } from "../shared/operations.ts";
import type { Visit } from "../shared/page.ts";
import type { Job } from "./job_status.tsx";
import { jobTexts } from "./texts.ts";
import { defineStates } from "../components/states.tsx";

type Execution = Row<"listJobExecutions">;
export type LogLine = Row<"listJobLogLines">;

const attemptStates = defineStates<Execution["status"]>({
  Processing: ["info", "Processing", "Em curso"],
  Succeeded: ["ok", "Succeeded", "Concluída"],
  Failed: ["bad", "Failed", "Falhou"],
  Abandoned: ["warn", "Abandoned", "Abandonada"],
});

/** The attempts of a job, newest first, with error, output and progress. `log` belongs to attempt `shownLog`. */
export function Attempts({ v, job, executions, log, shownLog }: {
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
              {t.worker}
              <CopyValue v={v} value={execution.workerId} shown={shortId(execution.workerId)} />
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
