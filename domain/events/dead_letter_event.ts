import type { Tx } from "../../infra/postgres/postgres.ts";
import type { DeadLetterNotice } from "../jobs/job_type.ts";
import { DELIVERY_JOB } from "./delivery_job.ts";
import { emitEvents } from "./emit.ts";

/** Emits `job.dead-lettered`. A dead delivery job emits nothing: its event's delivery could fail again, without end. */
export async function emitDeadLettered(tx: Tx, deadLetters: DeadLetterNotice[]): Promise<void> {
  const reported = deadLetters.filter(({ jobTypeName }) => jobTypeName !== DELIVERY_JOB.name);
  await emitEvents(
    {},
    tx,
    reported.map(({ id: deadLetterId, tenantId, serializedArgs: _, ...data }) => ({
      type: "job.dead-lettered",
      tenantId,
      data: { ...data, deadLetterId },
    })),
  );
}
