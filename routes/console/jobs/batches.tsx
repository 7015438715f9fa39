import { choice, hidden, linkColumn, list, listView, tenantColumn, timeColumn } from "../components/list.tsx";
import { defineStates } from "../components/states.tsx";
import { number, shortId, Time } from "../components/values.tsx";
import { tenantNames } from "../shared/access_queries.ts";
import type { Row } from "../shared/operations.ts";
import type { ConsolePage, View, Visit } from "../shared/page.ts";
import { jobColumns, jobStates } from "./list.tsx";
import { jobTexts } from "./texts.ts";

type Batch = Row<"listJobBatches">;

const batchStates = defineStates<Batch["status"]>({
  Open: ["idle", "Open", "Aberto"],
  Running: ["info", "Running", "Em curso"],
  Succeeded: ["ok", "Succeeded", "Concluído"],
  Failed: ["bad", "Failed", "Falhou"],
  Cancelled: ["idle", "Cancelled", "Cancelado"],
});

const nameOf = ({ id, name }: Batch): string => name ?? shortId(id);

/** Jobs of a batch that have ended, of all of them. */
const progressOf = (v: Visit, { counts, totalJobs }: Batch): string =>
  jobTexts[v.locale].of(counts.Succeeded + counts.DeadLettered + counts.Cancelled, totalJobs);

/** The batches of the scope, newest first. */
async function listBatches(v: Visit): Promise<View> {
  const t = jobTexts[v.locale];
  return await listView(v, "listJobBatches", {
    title: t.batches,
    crumbs: [{ href: "jobs", label: t.jobs }],
    caption: t.batches,
    empty: [t.noBatches],
    filters: [choice("status", t.status, batchStates.choices(v)), hidden("tenantId")],
    columns: async (rows) => [
      linkColumn(t.batch, (batch) => [`batches/${batch.id}`, nameOf(batch)]),
      ...await tenantColumn(v, rows),
      { head: t.status, cell: ({ status }) => batchStates.badge(v, status) },
      { head: t.ended, cell: (batch) => progressOf(v, batch) },
      { head: jobStates.labels[v.locale].DeadLettered, cell: ({ counts }) => number(v, counts.DeadLettered) },
      timeColumn(v, t.created, "createdAt"),
    ],
  });
}

/** One batch and its jobs, oldest first. */
async function showBatch(v: Visit): Promise<View> {
  const t = jobTexts[v.locale];
  const [batch, page] = await Promise.all([v.api.act("readJobBatch", v), v.api.list("listJobsOfBatch", v)]);
  return {
    title: nameOf(batch),
    scope: (await tenantNames(v, [batch.tenantId])).get(batch.tenantId ?? ""),
    crumbs: [{ href: "jobs", label: t.jobs }, { href: "batches", label: t.batches }],
    body: list(v, page, {
      caption: t.jobs,
      empty: [t.noJobs],
      filters: [choice("status", t.status, jobStates.choices(v))],
      above: (
        <p>
          {batchStates.badge(v, batch.status)} {progressOf(v, batch)} · <Time v={v} at={batch.createdAt} />
        </p>
      ),
      columns: jobColumns(v).map((column) => ({ ...column, sort: undefined })),
    }),
  };
}

export const batchPages: ConsolePage[] = [
  { path: "batches", get: listBatches },
  { path: "batches/{id}", get: showBatch },
];
