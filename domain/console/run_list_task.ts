import { DAY_MS } from "../../infra/clock.ts";
import { z } from "zod";
import { loadLater } from "../../infra/load_later.ts";
import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import { EXPORT_PROFILE } from "../files/profiles.ts";
import { type DeadLetterNotice, defineJob, type JobContext } from "../jobs/job_type.ts";
import { sendNotification } from "../notifications/sending/send.ts";
import { Problem } from "../problems/problem.ts";
import { withDatabase } from "../shared/platform.ts";
import {
  addUndoCalls,
  beginListTask,
  endListTask,
  type ListTask,
  nextTaskRows,
  noteCsvRows,
  readListTask,
  recordTaskRows,
} from "./list_task.ts";
import { type ConsolePlatform, TaskSessionEnded } from "./platform.ts";

const ROWS_AT_ONCE = 25;
/** Days until the file of a list is purged. */
const FILE_DAYS = 7;

const args = z.object({ taskId: z.guid() });

/** Does the work of a task. It may run again after a crash: then it continues after the last recorded rows. */
export const listTaskJob = defineJob({
  name: "steward.list-task",
  args,
  timeoutMs: 60 * 60_000,
  maxRetries: 3,
  concurrency: 4,
  isConcurrencySoft: true,
  async run({ taskId }, context: JobContext<ConsolePlatform>) {
    const { platform: p, signal } = context;
    const task = await runListTask(p, taskId, signal, (percent) => context.progress(percent));
    if (task) await tellOwner(p, task);
    return task ? { status: task.status, rows: task.position, refused: task.refused } : { ran: false };
  },
});

/**
 * Fails the tasks of dead-lettered jobs, in the transaction that ends the job: the last attempt may have run out of time or
 * lost its worker, and then its handler cannot do it.
 */
export async function failDeadTasks(
  p: ConsolePlatform,
  tx: Tx,
  deadLetters: DeadLetterNotice[],
): Promise<void> {
  for (const { jobTypeName, serializedArgs } of deadLetters) {
    if (jobTypeName !== listTaskJob.name) continue;
    const { data } = args.safeParse(JSON.parse(serializedArgs));
    if (data) await failTask(withDatabase(p, tx), data.taskId);
  }
}

async function failTask(p: ConsolePlatform, taskId: string): Promise<void> {
  const task = await beginListTask(p.sql, taskId);
  if (!task) return;
  const end = { status: "Failed" as const, error: "The job's executions show why." };
  if (await endListTask(p.sql, taskId, end)) await tellOwner(p, { ...task, ...end });
}

/** Runs a started task to its end. @returns the ended task; null if there is nothing to do */
export async function runListTask(
  p: ConsolePlatform,
  taskId: string,
  signal: AbortSignal,
  onProgress: (percent: number) => void = () => {},
): Promise<ListTask | null> {
  const task = await beginListTask(p.sql, taskId);
  if (!task) return null;
  try {
    if (task.kind === "Csv") await writeCsv(p, task, signal, onProgress);
    else await actOnRows(p, task, signal, onProgress);
  } catch (failure) {
    if (!(failure instanceof TaskSessionEnded)) throw failure;
    await endListTask(p.sql, taskId, { status: "Failed", error: "SESSION_ENDED" });
  }
  return await readListTask(p.sql, task.userId, taskId);
}

async function actOnRows(
  p: ConsolePlatform,
  begun: ListTask,
  signal: AbortSignal,
  onProgress: (percent: number) => void,
): Promise<void> {
  for (let task: ListTask | null = begun; task;) {
    signal.throwIfAborted();
    const ids: string[] | null = await nextTaskRows(p.sql, task, ROWS_AT_ONCE);
    if (ids === null) return; // cancelled, or another run continues it
    if (ids.length === 0) {
      await endListTask(p.sql, task.id, { status: "Completed" });
      return;
    }
    const { refusals, undo } = await (await p.listPages()).act(task, ids, signal);
    await addUndoCalls(p.sql, task, undo); // first, because the rows are changed also if the task was stopped
    task = await recordTaskRows(p.sql, task, { rows: ids.length, refusals });
    if (task) onProgress(100 * task.position / Math.max(1, task.total));
  }
}

async function writeCsv(
  p: ConsolePlatform,
  task: ListTask,
  signal: AbortSignal,
  onProgress: (percent: number) => void,
): Promise<void> {
  const { storeServiceFile } = await loadLater<typeof import("../files/service_files.ts")>(
    import.meta,
    "../files/service_files.ts",
  );
  let written = 0;
  const encoder = new TextEncoder();
  const lines = (await p.listPages()).csv(task, async (rows) => {
    signal.throwIfAborted();
    written = rows;
    if (!await noteCsvRows(p.sql, task.id, rows)) throw new TaskCancelled();
    onProgress(Math.min(99, 100 * rows / Math.max(1, task.total)));
  });
  try {
    await storeServiceFile(
      p,
      {
        tenantId: task.tenantId,
        profile: EXPORT_PROFILE,
        fileName: csvName(task.list, p.clock.now()),
        contentType: "text/csv",
        createdBy: task.userId,
        keepUntil: new Date(p.clock.now().getTime() + FILE_DAYS * DAY_MS),
      },
      ReadableStream.from(lines).pipeThrough(toBytes(encoder)),
      async (tx, fileId) => {
        const end = { status: "Completed", fileId, rows: written } as const;
        if (!await endListTask(tx, task.id, end)) throw new TaskCancelled();
      },
    );
  } catch (failure) {
    if (!(failure instanceof TaskCancelled)) throw failure;
  }
}

/** Thrown into the stream of a file whose task was cancelled; the sweep purges what was written. */
class TaskCancelled extends Error {
  override name = "TaskCancelled";
}

const toBytes = (encoder: TextEncoder) =>
  new TransformStream<string, Uint8Array>({
    transform: (text, controller) => controller.enqueue(encoder.encode(text)),
  });

/** `jobs-2026-01-31.csv` */
export const csvName = (list: string, now: Date): string =>
  `${list.replaceAll(/[^\w]+/g, "-")}-${now.toISOString().slice(0, 10)}.csv`;

/** An in-app notification with a link to the task. */
async function tellOwner(p: ConsolePlatform, task: ListTask): Promise<void> {
  if (task.status !== "Completed" && task.status !== "Failed") return;
  const pages = await p.listPages();
  try {
    await transact(
      p.sql,
      (tx) =>
        sendNotification(p, tx, { tenantId: task.tenantId, userId: null, traceId: null }, {
          channel: "InApp",
          recipients: [{ address: task.userId }],
          ...pages.notice(task),
          category: "lists",
          actionUrl: `${p.baseUrl()}/console/lists/tasks/${task.id}`,
        }),
    );
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure; // the user is no longer in the tenant
  }
}
