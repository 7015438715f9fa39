import { createLog, type Log, type LogFields } from "../../../infra/log.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { ClaimedJob } from "./claim.ts";
import { storableText } from "../../shared/cut_text.ts";

/** Maximum number of log lines stored for one attempt. Later lines go to the service's log only. */
export const LINES_KEPT = 1_000;
const LINE_LENGTH = 4_000;
const NOTE_LENGTH = 500;
const FLUSH_MS = 500;

interface Line {
  jobId: string;
  attempt: number;
  number: number;
  at: string;
  level: string;
  message: string;
  fields: string | null;
}

/** The last progress that an attempt reported. */
export interface Progress {
  jobId: string;
  attempt: number;
  /** From 0 to 100; null: the stored value stays. */
  percent: number | null;
  note: string | null;
}

/** Collects the log lines and the progress of one attempt. */
export interface AttemptReporter {
  log: Log;
  progress(percent: number, note?: string): void;
  /** Resolves when everything reported is stored; at once if nothing was reported. */
  flush(): Promise<void>;
}

/**
 * Stores the log lines and the progress of attempts, in one batch every half second. Lines pass through the service's
 * log format, so secrets are masked here too. Attempts that report nothing cause no queries. The job is locked against its
 * deletion, as by a foreign key: erasing a tenant deletes running jobs too.
 */
export class AttemptLog {
  #lines: Line[] = [];
  #progress = new Map<string, Progress>();
  #writing: Promise<void> = Promise.resolve();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly sql: Sql, private readonly log: Log) {}

  /** Returns the reporter of one attempt. */
  open(job: Pick<ClaimedJob, "id" | "attempts" | "jobTypeName" | "traceId">): AttemptReporter {
    const own = { jobId: job.id, attempt: job.attempts };
    let count = 0;
    let used = false;
    const keep = (line: string) => {
      if (++count > LINES_KEPT) return;
      used = true;
      this.#lines.push({ ...own, number: count, ...readLine(line) });
      this.#schedule();
    };
    const base = this.log.with({ jobId: job.id, jobTypeName: job.jobTypeName, traceId: job.traceId });
    return {
      log: both(base, createLog("debug", keep)),
      progress: (percent, note) => {
        used = true;
        this.#progress.set(`${job.id} ${job.attempts}`, {
          ...own,
          percent: Math.min(100, Math.max(0, Number.isFinite(percent) ? percent : 0)),
          note: note === undefined ? null : storableNote(note),
        });
        this.#schedule();
      },
      flush: () => used ? this.flush() : Promise.resolve(),
    };
  }

  /** Writes everything reported so far. Never fails: a lost log line must not fail the job. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#lines.splice(0);
    const progress = [...this.#progress.values()];
    this.#progress.clear();
    if (lines.length + progress.length > 0) {
      this.#writing = this.#writing.then(() => this.#write(lines, progress)).catch((error) =>
        this.log.warn("log lines of running jobs could not be stored", { error, lines: lines.length })
      );
    }
    return this.#writing;
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  async #write(lines: Line[], progress: Progress[]): Promise<void> {
    if (lines.length > 0) {
      const column = <T>(read: (line: Line) => T): T[] => lines.map(read);
      const fields = column((line) => line.fields);
      await this.sql`
        insert into job_log_lines (job_id, attempt_number, line_number, at, level, message, fields)
        select given.* from unnest(${column((l) => l.jobId)}::uuid[], ${column((l) => l.attempt)}::int[],
          ${column((l) => l.number)}::int[], ${column((l) => l.at)}::timestamptz[],
          ${column((l) => l.level)}::text[], ${column((l) => l.message)}::text[],
          ${fields}::text[]::jsonb[]) given (job_id, attempt, number, at, level, message, fields)
        join jobs j on j.id = given.job_id for key share of j
        on conflict do nothing`;
    }
    await writeProgress(this.sql, progress);
  }
}

/** Stores the progress of attempts; each attempt occurs once. */
export async function writeProgress(q: Sql, progress: Progress[]): Promise<void> {
  if (progress.length === 0) return;
  const column = <T>(read: (progress: Progress) => T): T[] => progress.map(read);
  const notes = column((p) => p.note);
  await q`
    insert into job_progress (job_id, attempt_number, percent, note)
    select given.job_id, given.attempt, coalesce(given.percent, former.percent, 0), given.note
    from unnest(${column((p) => p.jobId)}::uuid[], ${column((p) => p.attempt)}::int[],
      ${column((p) => p.percent)}::real[], ${notes}::text[]) given (job_id, attempt, percent, note)
    join jobs j on j.id = given.job_id
    left join job_progress former on former.job_id = given.job_id and former.attempt_number = given.attempt
    for key share of j
    on conflict on constraint job_progress_pkey
    do update set percent = excluded.percent, note = excluded.note, updated_at = now()`;
}

/** Escapes in JSON that jsonb refuses: NUL and unpaired surrogates. An escaped backslash before `u` is plain text. */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

/** Parses a line of the service's log into the columns in which an attempt stores it. */
function readLine(line: string): Pick<Line, "at" | "level" | "message" | "fields"> {
  const { time, level, message, ...fields } = JSON.parse(line);
  return storableLine({ time, level, message }, JSON.stringify(fields));
}

/** Returns the stored columns of a line. @param printed its fields as JSON; they are left out if they are too long */
export function storableLine(
  { time, level, message }: { time: string; level: string; message: string },
  printed: string,
): Pick<Line, "at" | "level" | "message" | "fields"> {
  const keepsFields = printed !== "{}" && printed.length <= LINE_LENGTH && !UNSTORABLE.test(printed);
  return {
    at: time,
    level,
    message: storableText(String(message), LINE_LENGTH),
    fields: keepsFields ? printed : null,
  };
}

export const storableNote = (note: string): string => storableText(String(note), NOTE_LENGTH);

function both(first: Log, second: Log): Log {
  const emit = (level: "debug" | "info" | "warn" | "error") => (message: string, fields?: LogFields) => {
    first[level](message, fields);
    second[level](message, fields);
  };
  return {
    debug: emit("debug"),
    info: emit("info"),
    warn: emit("warn"),
    error: emit("error"),
    with: (fields) => both(first.with(fields), second.with(fields)),
  };
}
