import { z } from "zod";
import { createLog } from "../../../infra/log.ts";
import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import type { Caller } from "../../rights/caller.ts";
import {
  LINES_KEPT,
  type Progress,
  storableLine,
  storableNote,
  writeProgress,
} from "../engine/attempt_log.ts";
import { time } from "../../shared/shapes.ts";
import type { ClaimedWork } from "./claim_slots.ts";
import { type Hide, hideInJson, hideReported } from "./reported_secrets.ts";
import { servedBy, tenantsServed } from "./served.ts";
import type { RemoteWorkPlatform } from "./work_polls.ts";

/** The report of a remote worker about a job that it holds. */
export interface Beat extends Progress {
  log: {
    level: "debug" | "info" | "warn" | "error";
    message: string;
    fields: Record<string, unknown> | null;
  }[];
}

/** Held: the lease was renewed. Lost: the attempt has ended. Cancel: as held, and a caller asked to cancel the job. */
export const BeatAnswer = z.object({
  jobId: z.guid(),
  attempt: z.int(),
  state: z.enum(["held", "lost", "cancel"]),
  leaseUntil: time.nullable().describe("Null: lost"),
});
type BeatAnswer = z.output<typeof BeatAnswer>;

type HeldRow =
  & Pick<ClaimedWork, "id" | "attempts" | "leaseUntil" | "tenantId" | "jobTypeName">
  & { workerId: string; isCancelled: boolean };

const keyOf = ({ jobId, attempt }: Pick<Beat, "jobId" | "attempt">) => `${jobId} ${attempt}`;
const hasReport = ({ percent, note, log }: Beat) => percent !== null || note !== null || log.length > 0;

/** Renews the leases of jobs that remote workers hold, and stores their progress and log lines. */
export async function renewWork(
  p: Pick<RemoteWorkPlatform, "sql" | "config" | "workPolls">,
  caller: Caller,
  beats: Beat[],
): Promise<BeatAnswer[]> {
  const held = await transact(p.sql, async (tx) => {
    const rows = await renewLeases(tx, caller, beats, p.config.JOB_LEASE_SECONDS);
    const held = new Map(rows.map((row) => [keyOf({ jobId: row.id, attempt: row.attempts }), row]));
    const reports = beats.filter((beat) => hasReport(beat) && held.has(keyOf(beat)));
    if (reports.length === 0) return held;
    const reported = reports.flatMap((beat) => held.get(keyOf(beat)) ?? []);
    const shown = await hideReported(tx, reported, reports, shownReport);
    await insertLines(tx, shown);
    await writeProgress(tx, progressOf(shown));
    return held;
  });
  p.workPolls.workers.heldJobs(held.values().map(({ workerId }) => workerId));
  return beats.map((beat) => {
    const { jobId, attempt } = beat;
    const row = held.get(keyOf(beat));
    const state = !row ? "lost" : row.isCancelled ? "cancel" : "held";
    return { jobId, attempt, state, leaseUntil: row?.leaseUntil ?? null };
  });
}

/** Renews the leases of held jobs. Locks the rows in the order of their ids, so that overlapping calls do not deadlock. */
async function renewLeases(tx: Tx, caller: Caller, beats: Beat[], leaseSeconds: number): Promise<HeldRow[]> {
  const served = await tenantsServed(tx, caller);
  return await tx<HeldRow[]>`
    with held as (
      select j.id from jobs j
      where j.id = any(${beats.map(({ jobId }) => jobId)}::uuid[]) and j.status = 'Processing'
        and j.deadline > now() and ${servedBy(tx, served)}
      order by j.id for no key update
    )
    update jobs j set lease_until =
      greatest(j.lease_until, least(now() + make_interval(secs => ${leaseSeconds}), j.deadline))
    from unnest(${beats.map(({ jobId }) => jobId)}::uuid[], ${beats.map(({ attempt }) => attempt)}::int[])
      given (id, attempt)
    where j.id = any(array(select id from held)) and j.id = given.id and j.attempts = given.attempt
      and j.status = 'Processing' and j.deadline > now()
    returning j.id, j.attempts, j.lease_until, j.cancel_requested_at is not null as is_cancelled, j.worker_id,
      j.tenant_id, j.job_type_name`;
}

/** Stores log lines after those of earlier heartbeats; the lease update before it has locked the jobs. */
async function insertLines(tx: Sql, reports: ShownReport[]): Promise<void> {
  const lines = reports.flatMap(({ jobId, attempt, log }) =>
    log.map((line) => ({ jobId, attempt, ...line }))
  );
  if (lines.length === 0) return;
  const column = <T>(read: (line: typeof lines[number]) => T): T[] => lines.map(read);
  await tx`
    insert into job_log_lines (job_id, attempt_number, line_number, at, level, message, fields)
    select given.job_id, given.attempt, stored.last + given.position, given.at, given.level, given.message, given.fields
    from (
      select *, row_number() over (partition by job_id, attempt order by place) as position
      from unnest(${column((l) => l.jobId)}::uuid[], ${column((l) => l.attempt)}::int[],
        ${column((l) => l.at)}::timestamptz[], ${column((l) => l.level)}::text[],
        ${column((l) => l.message)}::text[], ${column((l) => l.fields)}::text[]::jsonb[])
        with ordinality as line (job_id, attempt, at, level, message, fields, place)
    ) given
    cross join lateral (
      select coalesce(max(line_number), 0) as last from job_log_lines l
      where l.job_id = given.job_id and l.attempt_number = given.attempt
    ) stored
    where stored.last + given.position <= ${LINES_KEPT}`;
}

/** A report as it is stored. */
const shownReport = ({ note, log, ...beat }: Beat, hide: Hide) => ({
  ...beat,
  note: note === null ? null : storableNote(hide(note)),
  log: log.map((line) => printed(line, hide)),
});
type ShownReport = ReturnType<typeof shownReport>;

/** Formats a line as the service's log does, which masks secrets. Its fields may be named like members of a log line. */
function printed({ level, message, fields }: Beat["log"][number], hide: Hide) {
  const lines: string[] = [];
  createLog("debug", (line) => lines.push(line))[level](message, { fields: fields ?? {} });
  const line = JSON.parse(lines[0] ?? "{}");
  const shown = hideInJson(JSON.stringify(line.fields), hide);
  return storableLine({ ...line, message: hide(line.message) }, shown);
}

/** The last progress of each attempt. */
function progressOf(reports: ShownReport[]): Progress[] {
  const last = new Map<string, Progress>();
  for (const { log: _, ...report } of reports) {
    if (report.percent !== null || report.note !== null) last.set(keyOf(report), report);
  }
  return [...last.values()];
}
