import { actionButton, buttonLink } from "../components/forms.tsx";
import { choice, hidden, linkColumn, list, period, tenantColumn, timeColumn } from "../components/list.tsx";
import { Card, Notice } from "../components/notice.tsx";
import { type Column, LivePart, tableCard } from "../components/table.tsx";
import { bytes, CopyValue, duration, exactTime, factList, number, Time } from "../components/values.tsx";
import { done, formPage, sendTo, toDocument } from "../shared/actions.ts";
import { translateBuiltin } from "../shared/translations.ts";
import { searchOf } from "../shared/api.ts";
import { type ConsolePage, field, isOpen, mayInFiles, type View, type Visit } from "../shared/page.ts";
import {
  formatChoices,
  formatName,
  isMoving,
  methodLabel,
  readTargets,
  readTemplates,
  type Run,
  runFilterOf,
  runState,
  runStates,
  runTitle,
  scheduleOf,
  stateChoices,
  type Template,
  templateChoices,
} from "./model.tsx";
import { documentTexts, reportTexts, runStateTexts } from "./texts.ts";
import { STATUS } from "../../../domain/reports/status.ts";
import { defineStates } from "../components/states.tsx";
import { Fields, formView } from "../components/fields.tsx";
import { atInputs, deliveryFields, readDelivery } from "./request.tsx";
import { periodOf } from "../components/date_inputs.ts";
import { crumbsTo, everywhere, inTenantOf } from "../shared/scope.ts";
import type { Row } from "../shared/operations.ts";

type Delivery = Run["deliveries"][number];

/** The delivery to one recipient. */
const recipientStates = defineStates<Delivery["status"]>({
  Owed: ["info", "Pending", "Pendente"],
  Delivered: ["ok", "Delivered", "Entregue"],
  Failed: ["bad", "Failed", "Falhou"],
});

/** True if the document is being scanned. */
const isScanning = ({ fileStatus }: Run): boolean => fileStatus === "Pending" || fileStatus === "Scanning";

/** True if the outcome of the deliveries is not yet known. */
const isDelivering = ({ deliveryStatus }: Run): boolean => deliveryStatus === "Pending";

/** The run of the page, with its title and the name of its schedule. */
async function readRun(v: Visit): Promise<{ run: Run; schedule: string | undefined; title: string }> {
  const run = await v.api.call("readReportExecution", { params: v.params });
  const schedule = await scheduleOf(v.api, run);
  return { run, schedule, title: runTitle(v, run.reportName, schedule) };
}

/** One report run. Refreshes until it has ended, its document is scanned and all deliveries are done. */
async function runPage(v: Visit): Promise<View> {
  const t = reportTexts[v.locale];
  const [{ run, schedule, title }, templates] = await Promise.all([readRun(v), readTemplates(v)]);
  const isLive = isMoving(run) || isScanning(run) || isDelivering(run);
  return {
    title,
    actions: [
      !isDocument(run) &&
      buttonLink(`reports/${encodeURIComponent(run.templateId)}?from=${run.id}`, t.again, { icon: "retry" }),
      actionButton(v, `report-runs/${run.id}/delete`, isMoving(run) ? t.cancelRun : t.remove, {
        icon: isMoving(run) ? "close" : "trash",
        tone: "danger",
        confirm: isMoving(run) ? t.cancelConfirm : t.deleteConfirm,
      }),
    ],
    body: (
      <LivePart v={v} id="run" {...isLive ? { everySeconds: 2 } : {}}>
        <Progress v={v} run={run} />
        <div class="grid-2">
          <FactsCard v={v} run={run} schedule={schedule} />
          <ParametersCard v={v} templates={templates} of={run} />
        </div>
        {run.deliveries.length > 0 && <DeliveriesCard v={v} run={run} />}
      </LivePart>
    ),
  };
}

/** True if the run is a document of a document template. Ids of reports have no dot. */
const isDocument = ({ templateId }: Run): boolean => templateId.startsWith("document.");

/** Status, error and download button. It is in the live part, so the button appears without a reload. */
function Progress({ v, run }: { v: Visit; run: Run }) {
  const t = reportTexts[v.locale];
  const state = runState(run);
  const hasDocument = run.storedFileId !== null && state !== "Failed";
  const saysWhy = state !== "PartlyDelivered" && state !== "DeliveryFailed"; // their table does
  return (
    <>
      <Notice tone={runStates.tone(state)} title={runStates.labels[v.locale][state]}>
        <p>
          {runStateTexts[v.locale][state]}{" "}
          {hasDocument && documentTexts[v.locale][run.fileStatus ?? "Purged"]}
        </p>
        {run.errorMessage && saysWhy && <p class="break">{run.errorMessage}</p>}
      </Notice>
      {isMoving(run) && <progress aria-label={t.inProgress}></progress>}
      {hasDocument && run.fileStatus === "Available" && (
        <div class="row">
          {buttonLink(
            `report-runs/${run.id}/download`,
            `${t.download} (${formatName(run.format)}, ${bytes(v, run.fileSizeBytes)})`,
            { icon: "download", tone: "primary" },
          )}
          {buttonLink(`report-runs/${run.id}/deliver`, t.deliver, { icon: "notifications" })}
        </div>
      )}
    </>
  );
}

/** Parses "hh:mm:ss.fff" to milliseconds. */
function milliseconds(text: string | null): number | null {
  if (text === null) return null;
  const [hours = 0, minutes = 0, seconds = 0] = text.split(":").map(Number);
  return Math.round(((hours * 60 + minutes) * 60 + seconds) * 1_000);
}

function FactsCard({ v, run, schedule }: { v: Visit; run: Run; schedule: string | undefined }) {
  const t = reportTexts[v.locale];
  const { storedFileId, scheduleId, burstId } = run;
  return (
    <Card title={t.details}>
      {factList([
        [t.report, translateBuiltin(v.locale, run.reportName)],
        [t.id, <CopyValue v={v} value={run.id} />],
        [t.format, formatName(run.format)],
        [t.requestedBy, run.requestedBy],
        [t.requested, <Time v={v} at={run.createdAt} />],
        [t.started, <Time v={v} at={run.startedAt} />],
        [t.completed, <Time v={v} at={run.completedAt} />],
        [t.duration, duration(v, milliseconds(run.generationDuration))],
        [t.rows, run.rowCount === null ? null : number(v, run.rowCount)],
        !(storedFileId && mayInFiles(v.viewer, "read:files")) && [t.fileName, run.fileName],
        [t.downloads, number(v, run.downloadCount)],
        [t.expires, <Time v={v} at={run.expiresAt} />],
        storedFileId && mayInFiles(v.viewer, "read:files") &&
        [t.file, <a href={`files/${storedFileId}`}>{run.fileName ?? t.details}</a>],
        schedule && [t.fromSchedule, <a href={`report-schedules/${scheduleId}`}>{schedule}</a>],
        burstId && [t.burstValue, run.burstValue],
        burstId && [t.burstAll, <a href={`report-runs?burstId=${burstId}`}>{t.details}</a>],
      ])}
    </Card>
  );
}

/** Delivery status per recipient, with a button that retries failed deliveries. */
function DeliveriesCard({ v, run }: { v: Visit; run: Run }) {
  const t = reportTexts[v.locale];
  const columns: Column<Delivery>[] = [
    { head: t.recipient, cell: ({ recipient }) => recipient },
    { head: t.method, cell: ({ method }) => methodLabel(v.locale, method), wideOnly: true },
    { head: t.outcome, cell: ({ status }) => recipientStates.badge(v, status) },
    {
      head: t.error,
      cell: ({ errorMessage, recipient }) =>
        errorMessage?.includes("suppressed") && isOpen(v, "suppressions")
          ? <a href={`suppressions${searchOf({ search: recipient })}`}>{errorMessage}</a>
          : errorMessage ?? "",
    },
    timeColumn(v, t.lastAttempt, "updatedAt", { wideOnly: true }),
    {
      head: t.redeliverOne,
      align: "end",
      cell: ({ recipient, status }) =>
        status !== "Owed" &&
        actionButton(v, `report-runs/${run.id}/redeliver`, t.redeliverOne, {
          fields: { recipient },
          confirm: t.redeliverOneConfirm(recipient),
        }),
    },
  ];
  const failed = run.deliveries.filter(({ status }) => status === "Failed").length;
  return tableCard(t.delivery, run.deliveries, null, columns, {
    actions: run.status === STATUS.Completed && failed > 0 &&
      actionButton(v, `report-runs/${run.id}/redeliver`, t.redeliver, {
        icon: "retry",
        confirm: t.redeliverConfirm(failed),
      }),
  });
}

/** Deletes a run. A run that has not ended is cancelled first. */
async function deleteRun(v: Visit) {
  const t = reportTexts[v.locale];
  const { params } = v;
  const run = await v.api.call("readReportExecution", { params });
  await v.api.call("deleteReportExecution", { params });
  return done("report-runs", isMoving(run) ? t.cancelled : t.deleted);
}

/** Delivers again to the recipient of a row, or to all whose delivery failed. */
async function redeliver(v: Visit, form: FormData) {
  const recipient = field(form, "recipient");
  const body = recipient ? { recipients: [recipient] } : {};
  await v.api.call("redeliverReport", { params: v.params, body });
  return done(pathOf(v), reportTexts[v.locale].redelivered);
}

const pathOf = ({ params }: Visit): string => `report-runs/${params.id}`;

export const runPages: ConsolePage[] = [
  { path: "report-runs/{id}", get: runPage },
  {
    path: "report-runs/{id}/download",
    get: (v) => toDocument(v, v.api.call("downloadReport", { params: v.params }), pathOf(v)),
  },
  { path: "report-runs/{id}/delete", post: deleteRun },
  { path: "report-runs/{id}/redeliver", post: redeliver },
];

/** The form that delivers the document of a run to others. */
export const deliverPage = formPage({
  path: "report-runs/{id}/deliver",
  async show(v, sent) {
    const t = reportTexts[v.locale];
    const [{ run, title }, targets] = await Promise.all([readRun(v), readTargets(v)]);
    const f = new Fields(v, atInputs(v, sent), null, { method: 2 });
    return formView(f, {
      title: t.deliver,
      crumbs: crumbsTo(v, { href: `report-runs/${run.id}`, label: title }),
      submit: t.deliver,
      intro: t.deliverIntro,
      inputs: deliveryFields(f, targets),
    });
  },
  send: sendTo(
    "redeliverReport",
    (form) => ({ delivery: readDelivery(form) ?? { method: 1 } }),
    (v) => done(pathOf(v), reportTexts[v.locale].deliverQueued),
  ),
});

type ListedRun = Row<"listReportExecutions">;

/** Report runs the viewer may see, newest first, with their status. */
export async function runsPage(v: Visit): Promise<View> {
  const t = reportTexts[v.locale];
  const since = v.query.get("fromDate");
  const { fromDate = since, toDate } = periodOf(v);
  const [page, templates] = await Promise.all([
    v.api.list("listReportExecutions", v, {
      fromDate,
      toDate,
      pageNumber: v.query.get("page"),
      ...runFilterOf(v.query.get("state")),
      ...everywhere(v),
    }),
    readTemplates(v),
  ]);
  return {
    title: t.history,
    body: list(v, page, {
      caption: t.historyCaption,
      empty: [t.noRuns, t.noRunsText],
      top: [
        v.query.get("scheduleId") && <FilterNotice v={v} text={t.ofSchedule} />,
        v.query.get("burstId") && <FilterNotice v={v} text={t.ofBurst} />,
        since && fromDate === since && <FilterNotice v={v} text={t.sinceOnly(exactTime(v, since))} />,
      ],
      filters: [
        hidden("scheduleId"),
        hidden("burstId"),
        hidden("fromDate"),
        choice("templateId", t.template, templateChoices(templates)),
        choice("state", t.status, stateChoices(v)),
        choice("format", t.format, formatChoices()),
        ...period(t),
      ],
      everySeconds: page.items.some(isMoving) ? 2 : 15,
      columns: await runColumns(v, page.items, await tenantColumn(v, page.items)),
    }),
  };
}

const FilterNotice = ({ v, text }: { v: Visit; text: string }) => (
  <Notice tone="info">
    {text} <a href="report-runs">{reportTexts[v.locale].allRuns}</a>
  </Notice>
);

/** The columns of a table of report runs. A run has the title of its schedule, else of its report. */
export async function runColumns(
  v: Visit,
  runs: ListedRun[],
  tenant: Column<ListedRun>[] = [],
): Promise<Column<ListedRun>[]> {
  const t = reportTexts[v.locale];
  const schedules = await v.readScheduleNames(runs.map(({ id }) => id));
  return [
    linkColumn(
      t.name,
      ({ id, reportName, tenantId }) => [
        inTenantOf(v, tenantId, `report-runs/${id}`),
        runTitle(v, reportName, schedules.get(id)),
      ],
      {
        below: [[
          t.report,
          ({ id, reportName }) => (v.collect || schedules.has(id)) && runTitle(v, reportName, undefined),
        ]],
      },
    ),
    ...tenant,
    {
      head: t.status,
      cell: (run) => (
        <span class="row">
          {runStates.badge(v, runState(run))}
          {run.status === STATUS.Generating && <progress aria-label={t.inProgress}></progress>}
        </span>
      ),
    },
    { head: t.format, cell: ({ format }) => formatName(format) },
    {
      head: t.size,
      align: "end",
      cell: ({ fileSizeBytes }) => <span class="nowrap">{bytes(v, fileSizeBytes)}</span>,
      wideOnly: true,
    },
    timeColumn(v, t.requested, "createdAt"),
    timeColumn(v, t.completed, "completedAt", { wideOnly: true }),
  ];
}

/** The parameters of a run or a schedule. */
export function ParametersCard(
  { v, templates, of: { templateId, parametersJson } }: {
    v: Visit;
    /** Used for the names of the parameters. */
    templates: Template[];
    of: { templateId: string; parametersJson: string };
  },
) {
  const t = reportTexts[v.locale];
  const entries = Object.entries(JSON.parse(parametersJson) as Record<string, unknown>);
  const template = templates.find((each) => each.templateId === templateId);
  const displayName = (name: string) =>
    template?.parameters.find((each) => each.name === name)?.displayName ?? name;
  const shown = (value: unknown): string => {
    if (typeof value === "boolean") return value ? t.yes : t.no;
    return typeof value === "string" ? value : JSON.stringify(value);
  };
  return (
    <Card title={t.parameters}>
      {entries.length === 0
        ? <p class="muted">{t.none}</p>
        : factList(entries.map(([name, value]) => [displayName(name), shown(value)]))}
    </Card>
  );
}
