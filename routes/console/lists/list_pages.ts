import { type ListTask, MAX_UNDONE_ROWS, UNDO_ACTION } from "../../../domain/console/list_task.ts";
import { type ListPages, TaskSessionEnded } from "../../../domain/console/platform.ts";
import { readScheduleNames } from "../../../domain/reports/schedules/schedule.ts";
import type { ServicePlatform } from "../../../domain/platform.ts";
import { randomHex } from "../../../infra/telemetry/tracing.ts";
import { number } from "../components/values.tsx";
import { Refusal } from "../shared/api.ts";
import { commonTexts, listTexts } from "../shared/common_texts.ts";
import type { Locale } from "../shared/languages.ts";
import { type ConsolePage, offeredActions, type RowAction, type Visit } from "../shared/page.ts";
import { apiWithin, scopeAt } from "../shared/scope.ts";
import { callUndo, undoable } from "../shared/undo.ts";
import { addressOf, type ConsolePages } from "./console_pages.ts";
import { csvOf, readList } from "../components/csv.tsx";

/** Runs tasks on lists with the pages of the console, in the name of who started them. */
export const listPagesOf = (
  p: Pick<ServicePlatform, "sql" | "tokens" | "clock" | "stopping" | "baseUrl" | "log">,
  pages: ConsolePages,
): ListPages => ({
  async act(task, ids, signal) {
    const { page, v: opened } = await open(p, pages, task);
    const isUndo = task.action === UNDO_ACTION;
    const learning = isUndo || task.total > MAX_UNDONE_ROWS ? null : undoable(opened);
    const v = learning?.v ?? opened;
    const action = isUndo
      ? undoAction
      : offeredActions(v, page?.bulk ?? {}).find(([name]) => name === task.action)?.[1];
    const refusals: string[] = [];
    const undos: string[] = [];
    for (const id of ids) {
      signal.throwIfAborted();
      const run = () => action?.run(v, id, task.fields, `${task.id}-${id}`);
      if (action) await withSession(run, (reason) => refusals.push(reason));
      else refusals.push(commonTexts[v.locale].forbidden);
      const undo = learning?.undo();
      if (undo) undos.push(JSON.stringify(undo));
    }
    return { refusals, undo: undos };
  },
  async *csv(task, onRows) {
    const { page, v } = await open(p, pages, task);
    if (page) yield* csvOf(v, readList(page, v), onRows);
  },
  notice(task) {
    const locale = localeOf(task);
    const t = listTexts[locale];
    return { subject: titleOf(locale, pages, task), textBody: outcomeOf(locale, task) ?? t.fileReady };
  },
});

/** Undoes a task. Its "ids" are calls of the API, which the service has kept. */
const undoAction: RowAction = {
  label: ({ locale }) => listTexts[locale].undo,
  question: ({ locale }, count) => listTexts[locale].undoMany(count),
  run: (v, call) => callUndo(v, JSON.parse(call)),
};

/** The action of a task; undefined if its list has no such action. */
export const actionOf = (pages: ConsolePages, { list, action }: ListTask): RowAction | undefined =>
  action === UNDO_ACTION ? undoAction : pages.find(list)?.page.bulk?.[action ?? ""];

/** Asks the API for one row. A refused row does not affect the others, unless the session has ended. */
async function withSession(
  run: () => Promise<unknown> | undefined,
  onRefusal: (reason: string) => void,
): Promise<void> {
  try {
    await run();
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.status >= 500) throw refusal;
    if (refusal.status === 401) throw new TaskSessionEnded();
    onRefusal(refusal.text);
  }
}

/** The page of the task's list for who started it; without a page if they may not open it any more. */
async function open(
  p: Pick<ServicePlatform, "sql" | "tokens" | "clock" | "stopping" | "baseUrl" | "log">,
  pages: ConsolePages,
  task: ListTask,
): Promise<{ page: ConsolePage | null; v: Visit }> {
  const { userId, sessionId, tenantId, securityVersion, list } = task;
  const locale = localeOf(task);
  const inScope = async (tenantId: string | null) => {
    const token = await p.tokens.sign({ sub: userId, sid: sessionId, tenantId, ver: securityVersion });
    return pages.apiOf(token, locale);
  };
  const api = await inScope(tenantId);
  const viewer = await pages.viewerOf(api, userId).catch((refusal) => {
    throw refusal instanceof Refusal && refusal.status === 401 ? new TaskSessionEnded() : refusal;
  });
  const found = pages.find(list);
  const query = new URLSearchParams(task.query);
  const scope = await scopeAt(api, viewer, query);
  const v: Visit = {
    acting: null,
    boundTo: null,
    viewer,
    api: await apiWithin(api, inScope, viewer, scope),
    actor: { userId, tenantId, traceId: randomHex(16), ip: null },
    params: found?.params ?? {},
    query,
    hosted: null,
    baseUrl: p.baseUrl(),
    address: addressOf(task),
    scope,
    nav: [],
    cards: [],
    log: p.log,
    dismissed: new Set(),
    inScope,
    locale,
    timeZone: task.timeZone,
    theme: "auto",
    csrf: "",
    flash: null,
    secret: "",
    signal: p.stopping,
    now: p.clock.now(),
    readSavedFilters: () => Promise.resolve([]),
    readScheduleNames: (runIds) => readScheduleNames(p.sql, runIds),
  };
  return { page: found && pages.isOpen(found.page, viewer) ? found.page : null, v };
}

const localeOf = ({ locale }: ListTask): Locale => locale === "pt" ? "pt" : "en";

/** "CSV of jobs", "Retry: jobs". */
function titleOf(locale: Locale, pages: ConsolePages, task: ListTask): string {
  if (task.kind === "Csv") return listTexts[locale].csvOf(task.list);
  const label = actionOf(pages, task)?.label({ locale } as Visit);
  return `${label ?? task.action}: ${task.list}`;
}

/** The result of an ended task as a text; null for a file that is ready. */
export function outcomeOf(locale: Locale, task: ListTask, label?: string): string | null {
  const t = listTexts[locale];
  const count = (rows: number) => number({ locale }, rows);
  if (task.status === "Failed") return task.error === "SESSION_ENDED" ? t.sessionEnded : task.error;
  if (task.kind === "Csv") return null;
  const done = count(task.position - task.refused);
  const reason = Object.keys(task.refusals)[0] ?? "";
  const name = label ?? t.statusCompleted;
  return task.refused === 0 ? t.doneAll(name, done) : t.doneSome(name, done, count(task.refused), reason);
}
