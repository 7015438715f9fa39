import {
  endListTask,
  findUndoOf,
  listListTasks,
  type ListTask,
  MAX_OPEN_TASKS,
  MAX_TASK_ROWS,
  readDraftRows,
  readListTask,
  startListTask,
} from "../../../domain/console/list_task.ts";
import { listTaskJob, runListTask } from "../../../domain/console/run_list_task.ts";
import { giveServiceDownload } from "../../../domain/files/service_files.ts";
import { enqueueJob } from "../../../domain/jobs/enqueue.ts";
import type { ServicePlatform } from "../../../domain/platform.ts";
import { isUuid } from "../../../domain/shared/ids.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import type { Child } from "hono/jsx";
import { actionButton, buttonLink, CsrfField, isCountTyped, TypedCount } from "../components/forms.tsx";
import { Card, Empty, Notice } from "../components/notice.tsx";
import { type Column, dataTable, LivePart } from "../components/table.tsx";
import { factList, number, Time } from "../components/values.tsx";
import { reachOf, visitAt } from "../shared/scope.ts";
import { done, notDone, toDocument } from "../shared/actions.ts";
import { Refusal } from "../shared/api.ts";
import { commonTexts, listTexts } from "../shared/common_texts.ts";
import type { ConsolePage, Outcome, RowAction, View, Visit } from "../shared/page.ts";
import { addressOf, type ConsolePages } from "./console_pages.ts";
import { actionOf, outcomeOf } from "./list_pages.ts";
import { defineStates } from "../components/states.tsx";

/** Maximum rows of a task that is run before the answer. A larger task runs as a job. */
const MAX_IMMEDIATE_ROWS = 50;
/** Delay of the job that continues the task if the process ends before the answer. */
const TAKE_OVER_MS = 30_000;
const SHOWN_TASKS = 50;
/** Sent by who has seen what the action would do. */
const REVIEWED = "reviewed";
const REFRESH_SECONDS = 2;
const taskStates = defineStates<ListTask["status"]>({
  Draft: ["idle", "", ""],
  Queued: ["idle", "Waiting", "Esperando"],
  Running: ["info", "Running", "Em execução"],
  Completed: ["ok", "Completed", "Concluída"],
  Failed: ["bad", "Failed", "Falhou"],
  Cancelled: ["warn", "Stopped", "Parada"],
});

const crumbs = (v: Visit) => [{ href: "lists/tasks", label: listTexts[v.locale].tasks }];
const pathOf = ({ id }: Pick<ListTask, "id">): string => `lists/tasks/${id}`;
const isOpen = ({ status }: ListTask): boolean => status === "Queued" || status === "Running";

/** The question before an action on many rows, its progress and its outcome. Users see only their own tasks. */
export function taskPages(p: ServicePlatform, pages: ConsolePages): ConsolePage[] {
  const read = async (v: Visit): Promise<ListTask> => {
    const { id = "" } = v.params;
    const task = isUuid(id) ? await readListTask(p.sql, v.viewer.userId, id) : null;
    if (!task) throw new Refusal({ status: 404, detail: `You have no task ${id}.` });
    return task;
  };
  /**
   * Refuses the file of a task if the viewer may no longer open its list. The file still exists after its user has left the
   * tenant or lost the permission. @throws Refusal
   */
  const requireOpen = async (v: Visit, { list, tenantId }: ListTask): Promise<void> => {
    const viewer = await pages.viewerOf(await v.inScope(tenantId), v.viewer.userId);
    const found = pages.find(list);
    if (viewer.tenant?.id === (tenantId ?? undefined) && found && pages.isOpen(found.page, viewer)) return;
    throw new Refusal({
      status: 403,
      code: "FORBIDDEN",
      detail: `The list ${list} is no longer open to you.`,
    });
  };
  const titleOf = (v: Visit, task: ListTask): string =>
    actionOf(pages, task)?.question(v, task.total) ?? listTexts[v.locale].csvLarge(number(v, task.total));
  return [
    {
      path: "lists/tasks",
      async get(v) {
        const tasks = await listListTasks(p.sql, v.viewer.userId, SHOWN_TASKS);
        return tasksView(v, tasks, (task) => actionOf(pages, task)?.label(v) ?? listTexts[v.locale].csv);
      },
    },
    {
      path: "lists/tasks/{id}",
      async get(v): Promise<View> {
        const task = await read(v);
        const action = actionOf(pages, task);
        if (task.status === "Draft") return await questionView(v, task, titleOf(v, task), action);
        const label = action?.label(v) ?? listTexts[v.locale].csvOf(task.list);
        return progressView(v, task, label, isOpen(task) ? null : await findUndoOf(p.sql, task));
      },
    },
    {
      path: "lists/tasks/{id}/start",
      get: (v) => ({ goTo: pathOf({ id: v.params.id ?? "" }) }),
      async post(v, form): Promise<Outcome> {
        const task = await read(v);
        const fields = Object.fromEntries(
          [...form].flatMap(([name, value]) =>
            typeof value === "string" && name !== "csrf" && name !== REVIEWED ? [[name, value]] : []
          ),
        );
        if (task.kind === "Action" && !isCountTyped(form, task.total)) {
          return notDone(pathOf(task), listTexts[v.locale].typedOther(task.total));
        }
        const action = actionOf(pages, task);
        if (action?.review && task.status === "Draft" && !form.has(REVIEWED)) {
          const ids = await readDraftRows(p.sql, v.viewer.userId, task.id);
          return reviewView(v, task, { action, fields, effect: await action.review(v, ids, fields) });
        }
        const isSmall = task.kind === "Action" && task.total <= MAX_IMMEDIATE_ROWS;
        const outcome = await transact(p.sql, async (tx) => {
          const outcome = await startListTask(tx, { userId: v.viewer.userId, id: task.id, fields });
          const scheduledAt = isSmall ? new Date(p.clock.now().getTime() + TAKE_OVER_MS) : null;
          if (outcome === "started") {
            await enqueueJob(p, tx, listTaskJob, { taskId: task.id }, { scheduledAt });
          }
          return outcome;
        });
        if (outcome !== "started") {
          const { tooOld, tooManyOpen } = listTexts[v.locale];
          const text = outcome === "too-old" ? tooOld : tooManyOpen(MAX_OPEN_TASKS);
          return notDone(pathOf(task), text);
        }
        const ended = isSmall ? await runNow(p, task.id) : null;
        const label = action?.label(v);
        const text = ended && outcomeOf(v.locale, ended, label);
        if (!ended || !text || isOpen(ended)) return { goTo: pathOf(task) };
        const tone = ended.status === "Completed" && ended.refused === 0 ? "ok" : "bad";
        const undo = await findUndoOf(p.sql, task);
        return {
          goTo: addressOf(task),
          flash: { tone, text, ...undo && { undo: { page: pathOf({ id: undo }) } } },
        };
      },
    },
    {
      path: "lists/tasks/{id}/stop",
      async post(v) {
        const task = await read(v);
        await endListTask(p.sql, task.id, { status: "Cancelled" });
        return task.status === "Draft"
          ? { goTo: addressOf(task) }
          : done(pathOf(task), listTexts[v.locale].stopped);
      },
    },
    {
      path: "lists/tasks/{id}/download",
      async get(v) {
        const task = await read(v);
        if (!task.fileId) throw new Refusal({ status: 404, detail: `The task ${task.id} has no file.` });
        await requireOpen(v, task);
        return await toDocument(v, giveServiceDownload(p, v.actor, task.fileId), pathOf(task));
      },
    },
  ];
}

/** Runs a task before the answer. If the service fails, a job continues the task, and the result is null. */
async function runNow(p: ServicePlatform, taskId: string): Promise<ListTask | null> {
  try {
    return await runListTask(p, taskId, p.stopping);
  } catch (error) {
    p.log.error("a task on a list failed and continues as a job", { error, taskId });
    await transact(p.sql, (tx) => enqueueJob(p, tx, listTaskJob, { taskId }));
    return null;
  }
}

async function questionView(
  v: Visit,
  task: ListTask,
  title: string,
  action: RowAction | undefined,
): Promise<View> {
  const t = listTexts[v.locale];
  const left = Number(v.query.get("left") ?? 0);
  const fields = await action?.fields?.(v);
  const reach = reachOf(await visitAt(v, addressOf(task), {}));
  return {
    title,
    crumbs: crumbs(v),
    body: (
      <Card>
        {task.kind === "Csv" && <p>{t.csvLargeText(number(v, MAX_TASK_ROWS))}</p>}
        {left > 0 && <Notice tone="warn">{t.leftOut(number(v, left))}</Notice>}
        <form method="post" action={`${pathOf(task)}/start`} class="form">
          <CsrfField v={v} />
          {factList([
            [t.list, <ListLink task={task} />],
            [t.rows, number(v, task.total)],
            action && [t.counted, <Time v={v} at={task.createdAt.toISOString()} />],
          ])}
          {action && <p>{t.effect(action.label(v), task.total, reach)}</p>}
          {fields}
          {action && <TypedCount v={v} count={task.total} />}
          <div class="row">
            <button type="submit" class={`button ${action?.tone ?? "primary"}`}>
              {action ? `${action.label(v)} (${number(v, task.total)})` : t.makeCsv}
            </button>
            {buttonLink(addressOf(task), t.toList)}
          </div>
        </form>
      </Card>
    ),
  };
}

/** Shows what the action would do. Its button sends the fields again. */
function reviewView(
  v: Visit,
  task: ListTask,
  { action, fields, effect }: { action: RowAction; fields: Record<string, string>; effect: Child },
): View {
  return {
    title: action.question(v, task.total),
    crumbs: crumbs(v),
    body: [
      effect,
      <form method="post" action={`${pathOf(task)}/start`} class="row">
        <CsrfField v={v} />
        {Object.entries({ ...fields, [REVIEWED]: "true" }).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <button type="submit" class={`button ${action.tone ?? "primary"}`}>
          {`${action.label(v)} (${number(v, task.total)})`}
        </button>
        {buttonLink(pathOf(task), commonTexts[v.locale].cancel)}
      </form>,
    ],
  };
}

const ListLink = ({ task }: { task: ListTask }) => (
  <a class="break" href={addressOf(task)}>{decodeURIComponent(addressOf(task).replaceAll("+", " "))}</a>
);

function progressView(v: Visit, task: ListTask, label: string, undo: string | null): View {
  const t = listTexts[v.locale];
  const reasons = Object.entries(task.refusals);
  const failure = task.status === "Failed" && outcomeOf(v.locale, task);
  return {
    title: label,
    crumbs: crumbs(v),
    actions: [
      undo && buttonLink(pathOf({ id: undo }), t.undo, { icon: "undo" }),
      buttonLink(addressOf(task), t.toList),
    ],
    body: (
      <LivePart v={v} id="list-task" {...isOpen(task) && { everySeconds: REFRESH_SECONDS }}>
        <Card
          title={taskStates.badge(v, task.status)}
          actions={isOpen(task) &&
            actionButton(v, `${pathOf(task)}/stop`, t.stop, { confirm: t.stopConfirm })}
        >
          {failure && <Notice tone="bad">{failure}</Notice>}
          <progress class="task-bar" max={task.total} value={task.position} aria-label={t.done}></progress>
          {factList([
            [t.done, t.progress(number(v, task.position), number(v, task.total))],
            task.refused > 0 && [t.refused, number(v, task.refused)],
            [t.list, <ListLink task={task} />],
          ])}
          {task.fileId && [
            <p class="muted">{`${t.fileReady} ${t.fileScanned}`}</p>,
            <p>
              {buttonLink(`${pathOf(task)}/download`, t.downloadFile, { icon: "download", tone: "primary" })}
            </p>,
          ]}
        </Card>
        {reasons.length > 0 && (
          <Card title={t.reasons}>
            <ul>{reasons.map(([reason, count]) => <li>{`${reason} (${number(v, count)})`}</li>)}</ul>
          </Card>
        )}
      </LivePart>
    ),
  };
}

function tasksView(v: Visit, tasks: ListTask[], labelOf: (task: ListTask) => string): View {
  const t = listTexts[v.locale];
  const columns: Column<ListTask>[] = [
    { head: t.task, cell: (task) => <a href={pathOf(task)}>{labelOf(task)}</a> },
    { head: t.list, cell: (task) => <ListLink task={task} /> },
    { head: t.counted, cell: ({ createdAt }) => <Time v={v} at={createdAt.toISOString()} /> },
    {
      head: t.done,
      align: "end",
      cell: ({ position, total }) => t.progress(number(v, position), number(v, total)),
    },
    { head: t.refused, align: "end", cell: ({ refused }) => number(v, refused) },
    { head: t.statusCompleted, cell: (task) => taskStates.badge(v, task.status) },
  ];
  return {
    title: t.tasks,
    body: (
      <LivePart v={v} id="list-tasks" {...tasks.some(isOpen) && { everySeconds: REFRESH_SECONDS }}>
        {dataTable(
          t.tasksCaption,
          tasks,
          <Empty icon="jobs" title={t.noTasks}>{t.noTasksText}</Empty>,
          columns,
        )}
      </LivePart>
    ),
  };
}
