import type { Tone } from "../components/notice.tsx";
import { Badge } from "../components/values.tsx";
import { defineTexts, type Locale } from "../shared/languages.ts";
import type { Row } from "../shared/operations.ts";

export type Job = Row<"listJobs">;
export type JobStatus = Job["status"];

const TONES: Record<JobStatus, Tone> = {
  Enqueued: "info",
  Scheduled: "idle",
  AwaitingParent: "idle",
  Processing: "info",
  Succeeded: "ok",
  Failed: "warn",
  DeadLettered: "bad",
  Cancelled: "idle",
};

export const jobStatusLabels = defineTexts({
  Enqueued: ["Enqueued", "Na fila"],
  Scheduled: ["Scheduled", "Agendada"],
  AwaitingParent: ["Awaiting parent", "À espera da anterior"],
  Processing: ["Processing", "Em curso"],
  Succeeded: ["Succeeded", "Concluída"],
  Failed: ["Failed, will retry", "Falhou, vai repetir"],
  DeadLettered: ["Dead-lettered", "Falha definitiva"],
  Cancelled: ["Cancelled", "Cancelada"],
});

/** A job's status as a coloured label. */
export const JobStatusBadge = ({ locale, status }: { locale: Locale; status: JobStatus }) => (
  <Badge tone={TONES[status]}>{jobStatusLabels[locale][status]}</Badge>
);
