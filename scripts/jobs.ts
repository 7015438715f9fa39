// Lists, enqueues and cancels background jobs directly in the database: `deno task jobs COMMAND`.
import { httpRequest } from "../domain/jobs/built_in/http_request.ts";
import { sampleJobTypes } from "../domain/jobs/built_in/sample_jobs.ts";
import { cancelJob, retryJobNow } from "../domain/jobs/control/job_control.ts";
import { enqueueRequestedJob } from "../domain/jobs/control/enqueue_requested.ts";
import { type JobExecution, listExecutions } from "../domain/jobs/lists/job_detail.ts";
import { listJobs } from "../domain/jobs/lists/job_list.ts";
import {
  JOB_STATUSES,
  type JobSummary,
  jobSummary,
  PRIORITIES,
  QUEUE_NAME,
  QUEUE_NAME_EXPECTED,
  readJob,
} from "../domain/jobs/job_row.ts";
import { retryJob } from "../domain/jobs/control/dead_letters.ts";
import { JobTypes } from "../domain/jobs/job_type.ts";
import { JobWriter } from "../domain/jobs/enqueue.ts";
import { readJobStats } from "../domain/jobs/statistics/stats.ts";
import { masked, oneLine, runJobCommand } from "./shared/database_command.ts";
import { parseChoice, parseId, parseInteger, parseTime } from "./shared/option_values.ts";
import { EXIT, Failure } from "./shared/run_script.ts";
import { mainPool } from "../infra/postgres/postgres.ts";

const HELP = `Usage: deno task jobs COMMAND [options]

Commands:
  stats                    print the counts of the dashboard
  list                     list jobs, newest first
  enqueue TYPE [ARGS]      enqueue a job of a built-in type, with ARGS as JSON (default {})
  show ID                  print a job and its attempts with their errors
  retry ID                 run a job that waits for its retry now; enqueue an ended job again
  cancel ID                cancel a job that has not started or waits for its retry

Options:
  --tenant ID      only this tenant's jobs; enqueue: for this tenant instead of the service itself
  --status STATUS  list: ${JOB_STATUSES.join(", ")}
  --type-name TEXT list: only job types whose name contains TEXT
  --queue NAME     list: only this queue; enqueue: into this queue
  --limit N        list: at most N jobs (20; up to 1000)
  --priority P     enqueue: ${PRIORITIES.join(", ")}
  --at TIME        enqueue: run not before this time (ISO 8601)
  --max-retries N  enqueue: 0 to 25
  --json           print JSON
  -h, --help       this text

Example: deno task jobs enqueue steward.echo '{"text":"hello"}' --queue mail --at 2026-01-31T12:00:00Z

The database is DATABASE_URL; beside \`deno task dev\` it is found without.

Exit code 0 when done, 1 when refused, 64 for wrong usage, 69 when the database is not usable.`;

await runJobCommand({
  help: HELP,
  name: "jobs",
  takes: { enqueue: 2, show: 1, retry: 1, cancel: 1 },
  options: {
    status: { type: "string" },
    "type-name": { type: "string" },
    queue: { type: "string" },
    limit: { type: "string", default: "20" },
    priority: { type: "string", default: "Normal" },
    at: { type: "string" },
    "max-retries": { type: "string" },
  },
  commands: {
    async stats({ sql, reach, print }) {
      print(await readJobStats(sql, reach));
    },
    async list({ sql, reach, values, print }) {
      const page = await listJobs(sql, reach, {
        page: 1,
        pageSize: parseInteger("--limit", values.limit, 1, 1000),
        orderBy: "CreatedAt",
        ascending: false,
        ...(values.status ? { status: parseChoice("--status", values.status, JOB_STATUSES) } : {}),
        ...(values.queue ? { queue: values.queue } : {}),
        ...(values["type-name"] ? { searchTerm: values["type-name"] } : {}),
      });
      print(await masked(sql, page.items), page.items.map(line).join("\n") || "no jobs");
    },
    async enqueue({ sql, wakeUps, actor, values, args: [jobTypeName, serializedArgs = "{}"], print }) {
      if (!jobTypeName) throw new Failure(EXIT.usage, "enqueue needs a job type");
      const platform = {
        sql,
        wakeUps,
        jobTypes: builtInTypes(),
        jobWriter: new JobWriter(mainPool(sql), { wakeUps }),
      };
      const retries = values["max-retries"];
      const { job } = await enqueueRequestedJob(platform, actor, {
        jobTypeName,
        serializedArgs,
        argsTypeName: null,
        priority: parseChoice("--priority", values.priority, PRIORITIES),
        queue: queueName(values.queue),
        scheduledAt: parseTime("--at", values.at),
        maxRetries: retries ? parseInteger("--max-retries", retries, 0, 25) : null,
        parentJobId: null,
        parentJobIds: [],
        uniqueKey: null,
        uniqueFor: "unfinished",
      });
      print(await masked(sql, job), line(job));
    },
    async show({ sql, reach, args: [given], print }) {
      const id = parseId("show", given);
      const job = await masked(sql, jobSummary(await readJob(sql, reach, id)));
      const { items } = await listExecutions(sql, reach, id, { page: 1, pageSize: 100 });
      print({ ...job, attempts: items }, [memberLines(job), "", ...items.map(attemptLine)].join("\n"));
    },
    async retry({ sql, wakeUps, clock, actor, reach, args: [given], print }) {
      const id = parseId("retry", given);
      const { status } = await readJob(sql, reach, id);
      const platform = { sql, wakeUps, clock, jobTypes: builtInTypes() };
      const job = status === "Failed"
        ? await retryJobNow(platform, actor, id)
        : await retryJob(platform, actor, id, null);
      print(await masked(sql, job), line(job));
    },
    async cancel({ sql, wakeUps, clock, actor, args: [id], print }) {
      const platform = { sql, wakeUps, clock, jobTypes: builtInTypes() };
      const job = await cancelJob(platform, actor, parseId("cancel", id));
      print(await masked(sql, job), line(job));
    },
  },
});

function queueName(given = "default"): string {
  if (QUEUE_NAME.test(given)) return given;
  throw new Failure(EXIT.usage, `--queue is "${given}"; ${QUEUE_NAME_EXPECTED}`);
}

function line(job: JobSummary): string {
  const { id, status, priority, queue, jobTypeName, createdAt } = job;
  const columns = [id, status.padEnd(14), priority.padEnd(8), queue, jobTypeName, createdAt.toISOString()];
  const error = job.lastError ? [oneLine(job.lastError)] : [];
  return [...columns, ...error].join("  ");
}

/** The members of a job that are not null, one a line. */
function memberLines(job: JobSummary): string {
  const shown = Object.entries(job).filter(([, value]) => value !== null && value !== undefined);
  return shown.map(([name, value]) => `${name.padEnd(18)}${valueText(value)}`).join("\n");
}

function valueText(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function attemptLine({ attemptNumber, status, startedAt, durationMs, errorMessage }: JobExecution): string {
  const took = durationMs === null ? "" : `${durationMs} ms`;
  return `attempt ${attemptNumber}  ${status.padEnd(10)}  ${startedAt.toISOString()}  ${took}  ${
    errorMessage ?? ""
  }`
    .trimEnd();
}

/** The job types that this script can enqueue; it does not run them. */
function builtInTypes(): JobTypes {
  const types = new JobTypes();
  const samples = Deno.env.get("STEWARD_ENV") === "production" ? [] : sampleJobTypes;
  types.register(...samples, httpRequest);
  return types;
}
