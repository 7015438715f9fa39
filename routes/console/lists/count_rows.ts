import { keepsFiles } from "../../../infra/areas.ts";
import { draftListTask, MAX_CSV_ROWS, MAX_TASK_ROWS } from "../../../domain/console/list_task.ts";
import { csvName } from "../../../domain/console/run_list_task.ts";
import { readBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import type { ServicePlatform } from "../../../domain/platform.ts";
import { number } from "../components/values.tsx";
import { notDone } from "../shared/actions.ts";
import { Refusal } from "../shared/api.ts";
import { listTexts } from "../shared/common_texts.ts";
import {
  type ConsolePage,
  field,
  type ListRows,
  offeredActions,
  type Outcome,
  type Visit,
} from "../shared/page.ts";
import { visitAt } from "../shared/scope.ts";
import { addressOf, type ConsolePages, listOf } from "./console_pages.ts";
import { csvOf, idOf, readList } from "../components/csv.tsx";

/** Most rows of a download; more are written to a file by a job. */
const MAX_STREAMED_ROWS = 10_000;
/** Most rows that one page can select. */
const MAX_SELECTED = 500;

type Counting = Pick<ServicePlatform, "config" | "sql" | "clock">;

/** Counts the rows of a form of a list, keeps their ids, and leads to the question. */
export const countPage = (p: Counting, pages: ConsolePages): ConsolePage => ({
  path: "lists/count",
  async post(v, form): Promise<Outcome> {
    const t = listTexts[v.locale];
    const { list, query } = listOf(form);
    const goTo = addressOf({ list, query });
    const found = pages.find(list);
    const isOpen = found && pages.isOpen(found.page, v.viewer);
    const name = field(form, "do");
    const listed = await visitAt(v, goTo, found?.params ?? {});
    const action = isOpen &&
      offeredActions(listed, found.page.bulk ?? {}).find(([known]) => known === name)?.[1];
    if (!action) throw new Refusal({ status: 404, detail: `The list ${list} has no action ${name}.` });
    const refuse = (text: string) => notDone(goTo, text);
    const isAll = form.get("all") === "true";
    const chosen = new Set(form.getAll("id").map(String).slice(0, MAX_SELECTED));
    if (!isAll && chosen.size === 0) return refuse(t.nothingSelected);
    const ids: string[] = [];
    let matching = 0;
    for await (const { page } of readList(found.page, listed)) {
      if (isAll && page.totalCount > MAX_TASK_ROWS) return refuse(t.tooMany(number(v, MAX_TASK_ROWS)));
      for (const row of page.items) {
        const id = idOf(row);
        if (id === null || (!isAll && !chosen.has(id))) continue;
        matching++;
        if (action.fits?.(row, v) ?? true) ids.push(id);
      }
      if (!isAll && matching === chosen.size) break;
    }
    if (ids.length === 0) return refuse(isAll || matching > 0 ? t.nothingFits : t.nothingSelected);
    const task = { kind: "Action" as const, list, query, action: name, total: ids.length, ids };
    const left = matching - ids.length;
    return { goTo: `lists/tasks/${await draft(p, v, task)}${left > 0 ? `?left=${left}` : ""}` };
  },
});

/** The list of a page as CSV. A long list becomes a task, which the viewer starts. */
export async function downloadList(p: Counting, page: ConsolePage, v: Visit): Promise<Outcome> {
  const t = listTexts[v.locale];
  const [path = ""] = v.address.split("?");
  const query = new URLSearchParams(v.query);
  query.delete("as");
  const address = { list: path, query: query.toString() };
  const parts = readList(page, v);
  const first = await parts.next();
  if (first.done) return { goTo: addressOf(address) };
  const { totalCount } = first.value.page;
  const most = keepsFiles(p.config) ? MAX_CSV_ROWS : MAX_STREAMED_ROWS;
  if (totalCount > most) return notDone(addressOf(address), t.csvTooLarge(number(v, most)));
  if (totalCount > MAX_STREAMED_ROWS) {
    const id = await draft(p, v, { kind: "Csv", ...address, action: null, total: totalCount, ids: [] });
    return { goTo: `lists/tasks/${id}` };
  }
  const lines = csvOf(v, withFirst(first.value, parts));
  return new Response(ReadableStream.from(lines).pipeThrough(new TextEncoderStream()), {
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="${csvName(path, p.clock.now())}"`,
      "cache-control": "no-store",
    },
  });
}

async function* withFirst(first: ListRows, others: AsyncIterable<ListRows>): AsyncGenerator<ListRows> {
  yield first;
  yield* others;
}

async function draft(
  { sql }: Counting,
  v: Visit,
  task: Pick<Parameters<typeof draftListTask>[1], "kind" | "list" | "query" | "action" | "total" | "ids">,
): Promise<string> {
  const session = await readBrowserSession(sql, v.secret);
  if (session === null || session === "access-changed") {
    throw new Refusal({ status: 401, detail: "The session has ended." });
  }
  const { userId, sessionId, tenantId, securityVersion } = session;
  const { locale, timeZone } = v;
  return await draftListTask(sql, {
    ...task,
    userId,
    sessionId,
    tenantId,
    securityVersion,
    locale,
    timeZone,
  });
}
