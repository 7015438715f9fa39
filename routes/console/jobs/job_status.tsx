import { defineStates } from "../components/states.tsx";
import type { Row } from "../shared/operations.ts";

export type Job = Row<"listJobs">;
export type JobStatus = Job["status"];

export const jobStates = defineStates<JobStatus>({
  Enqueued: ["info", "Enqueued", "Na fila"],
  Scheduled: ["idle", "Scheduled", "Agendada"],
  AwaitingParent: ["idle", "Awaiting parent", "À espera da anterior"],
  Processing: ["info", "Processing", "Em curso"],
  Succeeded: ["ok", "Succeeded", "Concluída"],
  Failed: ["warn", "Failed, will retry", "Falhou, vai repetir"],
  DeadLettered: ["bad", "Dead-lettered", "Falha definitiva"],
  Cancelled: ["idle", "Cancelled", "Cancelada"],
});
