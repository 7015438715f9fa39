import type { Child } from "hono/jsx";
import { ActionButton, ButtonLink } from "../components/forms.tsx";
import { Card, Notice, type Tone } from "../components/notice.tsx";
import { type Column, DataTable, LivePart } from "../components/table.tsx";
import { Badge, bytes, CopyValue, duration, Facts, number, Time } from "../components/values.tsx";
import { Refusal } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { translateBuiltin } from "../shared/builtin_translations.ts";
import { mayInFiles, type Outcome, type View, type Visit } from "../shared/page.ts";
import { formatName, isMoving, readTemplates, type Run, statusName, toneOf } from "./model.tsx";
import { ParametersCard } from "./parameters_card.tsx";
import { documentTexts, reportDeliveryLabels, reportStatusTexts, reportTexts } from "./texts.ts";

type Delivery = Run["deliveries"][number];

const DELIVERY_TONES: Record<Delivery["status"], Tone> = { Owed: "info", Delivered: "ok", Failed: "bad" };

/** Whether the document is being scanned. */
const isScanning = ({ fileStatus }: Run): boolean => fileStatus === "Pending" || fileStatus === "Scanning";

/** One report run. Refreshes until it has ended, its document is scanned and all deliveries are done. */
export async function runPage(v: Visit): Promise<View> {
  const t = reportTexts[v.locale];
  const [run, templates] = await Promise.all([
    v.api.get<Run>(`reports/${v.params.id}`),
    readTemplates(v),
  ]);
  const isLive = isMoving(run) || isScanning(run) || run.deliveries.some(({ status }) => status === "Owed");
  return {
    title: translateBuiltin(v.locale, run.reportName),
    crumbs: [{ href: "report-runs", label: t.history }],
    actions: <RunActions v={v} run={run} />,
    body: (
      <LivePart v={v} id="run" {...isLive ? { everySeconds: 2 } : {}}>
        <Progress v={v} run={run} />
        <div class="grid-2">
          <FactsCard v={v} run={run} />
          <ParametersCard v={v} templates={templates} of={run} />
        </div>
        {run.deliveries.length > 0 && <DeliveriesCard v={v} run={run} />}
      </LivePart>
    ),
  };
}

function RunActions({ v, run }: { v: Visit; run: Run }) {
  const t = reportTexts[v.locale];
  const moving = isMoving(run);
  return (
    <>
      <ButtonLink
        href={`reports/${encodeURIComponent(run.templateId)}?from=${run.id}`}
        label={t.again}
        icon="retry"
      />
      <ActionButton
        v={v}
        action={`report-runs/${run.id}/delete`}
        label={moving ? t.cancelRun : commonTexts[v.locale].remove}
        icon={moving ? "close" : "trash"}
        tone="danger"
        confirm={moving ? t.cancelConfirm : t.deleteConfirm}
      />
    </>
  );
}

/** Status, error and download button. It is in the live part, so the button appears without a reload. */
function Progress({ v, run }: { v: Visit; run: Run }) {
  const t = reportTexts[v.locale];
  const s = reportStatusTexts[v.locale];
  const name = statusName(run.status);
  const hasDocument = run.storedFileId !== null && run.status !== 4;
  return (
    <>
      <Notice tone={run.status === 3 && run.errorMessage ? "warn" : toneOf(run.status)} title={s[name]}>
        <p>
          {s[`${name}Text`]} {hasDocument && documentTexts[v.locale][run.fileStatus ?? "Purged"]}
        </p>
        {run.errorMessage && <p class="break">{run.errorMessage}</p>}
      </Notice>
      {isMoving(run) && <progress aria-label={t.inProgress}></progress>}
      {hasDocument && run.fileStatus === "Available" && (
        <div class="row">
          <ButtonLink
            href={`report-runs/${run.id}/download`}
            label={`${t.download} (${formatName(run.format)}, ${bytes(v, run.fileSizeBytes)})`}
            icon="download"
            tone="primary"
          />
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

function FactsCard({ v, run }: { v: Visit; run: Run }) {
  const t = reportTexts[v.locale];
  const facts: [string, Child][] = [
    [t.id, <CopyValue v={v} value={run.id} />],
    [t.format, formatName(run.format)],
    [t.requestedBy, run.requestedBy],
    [t.requested, <Time v={v} at={run.createdAt} />],
    [t.started, <Time v={v} at={run.startedAt} />],
    [t.completed, <Time v={v} at={run.completedAt} />],
    [t.duration, duration(v, milliseconds(run.generationDuration))],
    [t.rows, run.rowCount === null ? null : number(v, run.rowCount)],
    [t.fileName, run.fileName],
    [t.downloads, number(v, run.downloadCount)],
    [t.expires, <Time v={v} at={run.expiresAt} />],
  ];
  if (run.storedFileId && mayInFiles(v.viewer, "read:files")) {
    facts.push([t.file, <a href={`files/${run.storedFileId}`}>{commonTexts[v.locale].details}</a>]);
  }
  if (run.scheduleId) {
    facts.push([
      t.fromSchedule,
      <a href={`report-schedules/${run.scheduleId}`}>{commonTexts[v.locale].details}</a>,
    ]);
  }
  if (run.burstId) {
    facts.push(
      [t.burstValue, run.burstValue],
      [t.burstAll, <a href={`report-runs?burstId=${run.burstId}`}>{commonTexts[v.locale].details}</a>],
    );
  }
  return (
    <Card title={commonTexts[v.locale].details}>
      <Facts facts={facts} />
    </Card>
  );
}

/** Delivery status per recipient, with a button that retries failed deliveries. */
function DeliveriesCard({ v, run }: { v: Visit; run: Run }) {
  const t = reportTexts[v.locale];
  const d = reportDeliveryLabels[v.locale];
  const columns: Column<Delivery>[] = [
    { head: t.recipient, cell: ({ recipient }) => recipient },
    { head: t.method, cell: ({ method }) => d[methodName(method)], wideOnly: true },
    { head: t.outcome, cell: ({ status }) => <Badge tone={DELIVERY_TONES[status]}>{d[status]}</Badge> },
    { head: t.error, cell: ({ errorMessage }) => errorMessage ?? "" },
  ];
  const canRedeliver = run.status === 3 && run.deliveries.some(({ status }) => status === "Failed");
  return (
    <Card
      title={t.delivery}
      actions={canRedeliver &&
        <ActionButton v={v} action={`report-runs/${run.id}/redeliver`} label={t.redeliver} icon="retry" />}
    >
      <DataTable caption={t.delivery} columns={columns} rows={run.deliveries} empty={null} />
    </Card>
  );
}

const methodName = (method: number) => (["1", "2", "3", "4"] as const)[method - 1] ?? "1";

/** Redirects to a signed download URL. */
export async function downloadRun(v: Visit): Promise<Outcome> {
  try {
    const { url } = await v.api.get<{ url: string }>(`reports/${v.params.id}/download`);
    return new Response(null, { status: 303, headers: { location: url, "cache-control": "no-store" } });
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || ![400, 409, 422].includes(refusal.status)) throw refusal;
    return { goTo: `report-runs/${v.params.id}`, flash: refusal.flash };
  }
}

/** Deletes a run. A run that has not ended is cancelled first. */
export async function deleteRun(v: Visit): Promise<Outcome> {
  const t = reportTexts[v.locale];
  const run = await v.api.get<Run>(`reports/${v.params.id}`);
  await v.api.send("DELETE", `reports/${v.params.id}`);
  return { goTo: "report-runs", flash: { tone: "ok", text: isMoving(run) ? t.cancelled : t.deleted } };
}

export async function redeliver(v: Visit): Promise<Outcome> {
  await v.api.send("POST", `reports/${v.params.id}/redeliver`);
  return {
    goTo: `report-runs/${v.params.id}`,
    flash: { tone: "ok", text: reportTexts[v.locale].redelivered },
  };
}
