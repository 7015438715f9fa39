import { lockNamed } from "../../infra/postgres/advisory_locks.ts";
import { type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { requireUnerased } from "../rights/user_lookup.ts";
import { newId } from "../shared/ids.ts";

export type ListTaskStatus = "Draft" | "Queued" | "Running" | "Completed" | "Failed" | "Cancelled";

/** Most rows that one task changes. */
export const MAX_TASK_ROWS = 10_000;
/** Most rows of a CSV file. */
export const MAX_CSV_ROWS = 100_000;
/** The action of a task that undoes another one. Its rows are the calls of the API that do so. */
export const UNDO_ACTION = "undo";
/** Most rows of a task that can be undone: each part of them is added to all calls before it. */
export const MAX_UNDONE_ROWS = 1_000;
/** Older drafts of a user are deleted, because each holds the ids of its rows. */
const MAX_DRAFTS = 10;
/** Maximum number of tasks of a user that wait or run at the same time. */
export const MAX_OPEN_TASKS = 10;
/** A count is not acted on after this time: the rows may have changed too much. */
const DRAFT_MINUTES = 30;
const KEPT_DAYS = 30;
/** Maximum number of different reasons of refusals that are kept. */
const REASONS_KEPT = 5;

/** In whose name a task runs: as long as this session lasts and the user's access stays the same. */
export interface TaskSession {
  userId: string;
  sessionId: string;
  tenantId: string | null;
  securityVersion: number;
}

/** An action on many rows of a list, or its CSV file. */
export interface ListTask extends TaskSession {
  id: string;
  kind: "Csv" | "Action";
  /** Path of the list's page. */
  list: string;
  query: string;
  action: string | null;
  /** Texts that the user entered for the action, by input. */
  fields: Record<string, string>;
  locale: string;
  timeZone: string;
  total: number;
  /** Rows that are done, among them the refused ones. */
  position: number;
  refused: number;
  /** Number of refused rows by reason. */
  refusals: Record<string, number>;
  status: ListTaskStatus;
  error: string | null;
  fileId: string | null;
  createdAt: Date;
  endedAt: Date | null;
}

export type NewListTask =
  & TaskSession
  & Pick<ListTask, "kind" | "list" | "query" | "action" | "locale" | "timeZone" | "total">
  & { ids: string[]; fields?: Record<string, string> };

const COLUMNS = [
  "id",
  "user_id",
  "session_id",
  "tenant_id",
  "security_version",
  "kind",
  "list",
  "query",
  "action",
  "fields",
  "locale",
  "time_zone",
  "total",
  "position",
  "refused",
  "refusals",
  "status",
  "error",
  "file_id",
  "created_at",
  "ended_at",
];

/**
 * Stores a counted task as a draft. Old tasks and surplus drafts of the user are deleted.
 * @returns its id
 * @throws SESSION_INVALIDATED if the user was erased
 */
export async function draftListTask(q: Sql, task: NewListTask): Promise<string> {
  const id = newId();
  await transact(q, async (tx) => {
    await requireUnerased(tx, task.userId);
    await lockTasksOf(tx, task.userId);
    await tx`delete from console_list_tasks where user_id = ${task.userId} and (
      created_at < now() - make_interval(days => ${KEPT_DAYS})
      or status = 'Draft' and created_at < now() - make_interval(mins => ${DRAFT_MINUTES})
      or id in (select id from console_list_tasks where user_id = ${task.userId} and status = 'Draft'
        order by id desc offset ${MAX_DRAFTS - 1}))`;
    await tx`
      insert into console_list_tasks (id, user_id, session_id, tenant_id, security_version, kind, list, query, action,
        locale, time_zone, ids, fields, total, status)
      values (${id}, ${task.userId}, ${task.sessionId}, ${task.tenantId}, ${task.securityVersion}, ${task.kind},
        ${task.list}, ${task.query}, ${task.action}, ${task.locale}, ${task.timeZone}, ${task.ids}::text[],
        ${tx.json(task.fields ?? {})}, ${task.total}, 'Draft')`;
  });
  return id;
}

/** A task of the user; null if there is none. */
export async function readListTask(q: Sql, userId: string, id: string): Promise<ListTask | null> {
  const [task] = await q<ListTask[]>`
    select ${q(COLUMNS)} from console_list_tasks where id = ${id} and user_id = ${userId}`;
  return task ?? null;
}

/** The rows of a draft of the user; none after its start. */
export async function readDraftRows(q: Sql, userId: string, id: string): Promise<string[]> {
  const [draft] = await q<{ ids: string[] }[]>`
    select ids from console_list_tasks where id = ${id} and user_id = ${userId} and status = 'Draft'`;
  return draft?.ids ?? [];
}

/** The draft that undoes a task; null if nothing can be undone. */
export async function findUndoOf(
  q: Sql,
  { id, userId }: Pick<ListTask, "id" | "userId">,
): Promise<string | null> {
  const [undo] = await q<{ id: string }[]>`
    select id from console_list_tasks where user_id = ${userId} and status = 'Draft'
      and fields ->> 'undoes' = ${id} and created_at > now() - make_interval(mins => ${DRAFT_MINUTES})`;
  return undo?.id ?? null;
}

/** Adds calls that undo rows of a task to the draft that undoes it. */
export async function addUndoCalls(q: Sql, task: ListTask, calls: string[]): Promise<void> {
  if (calls.length === 0) return;
  const id = await findUndoOf(q, task);
  if (id === null) {
    const undo = { action: UNDO_ACTION, ids: calls, total: calls.length, fields: { undoes: task.id } };
    await draftListTask(q, { ...task, ...undo });
  } else {
    await q`update console_list_tasks set ids = ids || ${calls}::text[], total = total + ${calls.length}::int
      where id = ${id} and status = 'Draft'`;
  }
}

/** The latest tasks that a user started, newest first. */
export const listListTasks = (q: Sql, userId: string, limit: number) =>
  q<ListTask[]>`
    select ${q(COLUMNS)} from console_list_tasks where user_id = ${userId} and status <> 'Draft'
    order by id desc limit ${limit}`;

/** Starts a counted task. "too-old": it was counted too long ago, or was started before. "too-many": others are open. */
export async function startListTask(
  tx: Tx,
  { userId, id, fields }: { userId: string; id: string; fields: Record<string, string> },
): Promise<"started" | "too-old" | "too-many"> {
  await lockTasksOf(tx, userId);
  const open = await tx`
    select from console_list_tasks where user_id = ${userId} and status in ('Queued', 'Running')`;
  if (open.count >= MAX_OPEN_TASKS) return "too-many";
  const started = await tx`
    update console_list_tasks set status = 'Queued', fields = ${tx.json(fields)}
    where id = ${id} and user_id = ${userId} and status = 'Draft'
      and created_at > now() - make_interval(mins => ${DRAFT_MINUTES})`;
  return started.count > 0 ? "started" : "too-old";
}

/** The counts of a user's tasks hold until the transaction ends. */
const lockTasksOf = (tx: Tx, userId: string) => lockNamed(tx, "listTasks", userId);

/** Marks a started task as Running; also one that an earlier run left. @returns null if it has ended */
export async function beginListTask(q: Sql, id: string): Promise<ListTask | null> {
  const [task] = await q<ListTask[]>`
    update console_list_tasks set status = 'Running', started_at = coalesce(started_at, now())
    where id = ${id} and status in ('Queued', 'Running') returning ${q(COLUMNS)}`;
  return task ?? null;
}

/** The next rows of a running task; null if it has ended meanwhile. */
export async function nextTaskRows(
  q: Sql,
  { id, position }: Pick<ListTask, "id" | "position">,
  limit: number,
): Promise<string[] | null> {
  const [row] = await q<{ ids: string[] }[]>`
    select ids[${position + 1}:${position + limit}] as ids from console_list_tasks
    where id = ${id} and status = 'Running' and position = ${position}`;
  return row?.ids ?? null;
}

/**
 * Records how many rows are done. Only one of two runs of the same task can do so.
 * @returns the updated task; null if it has ended, or another run continues it
 */
export async function recordTaskRows(
  q: Sql,
  task: ListTask,
  done: { rows: number; refusals: string[] },
): Promise<ListTask | null> {
  const refusals = { ...task.refusals };
  for (const reason of done.refusals) {
    const isKept = Object.hasOwn(refusals, reason) || Object.keys(refusals).length < REASONS_KEPT;
    if (isKept) refusals[reason] = (refusals[reason] ?? 0) + 1;
  }
  const [recorded] = await q<ListTask[]>`
    update console_list_tasks set position = position + ${done.rows}, refused = refused + ${done.refusals.length},
      refusals = ${q.json(refusals)}
    where id = ${task.id} and status = 'Running' and position = ${task.position} returning ${q(COLUMNS)}`;
  return recorded ?? null;
}

/** Shows how many rows of a CSV file are written. @returns false if the task has ended */
export async function noteCsvRows(q: Sql, id: string, rows: number): Promise<boolean> {
  const noted = await q`
    update console_list_tasks set position = least(${rows}::int, total) where id = ${id} and status = 'Running'`;
  return noted.count > 0;
}

/** From which statuses a task may end in each way; drawn in this area's README. */
const ENDS_FROM: Record<"Completed" | "Failed" | "Cancelled", ListTaskStatus[]> = {
  Completed: ["Running"],
  Failed: ["Queued", "Running"],
  Cancelled: ["Draft", "Queued", "Running"],
};

/** Ends a task and deletes its ids. @returns false if its status does not allow this end */
export async function endListTask(
  q: Sql,
  id: string,
  end: { status: keyof typeof ENDS_FROM; error?: string; fileId?: string; rows?: number },
): Promise<boolean> {
  const { status, error = null, fileId = null, rows = null } = end;
  const ended = await q`
    update console_list_tasks set status = ${status}, error = ${error}, file_id = ${fileId}, ids = '{}',
      ended_at = now(), total = coalesce(${rows}::int, total), position = coalesce(${rows}::int, position)
    where id = ${id} and status = any(${ENDS_FROM[status]})`;
  return ended.count > 0;
}
