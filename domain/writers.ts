import type { Pool } from "../infra/postgres/postgres.ts";
import type { WakeUps } from "../infra/wakeups/wakeups.ts";
import { AuditWriter } from "./audit/audit_writer.ts";
import { ReservationWriter } from "./files/reservation_writer.ts";
import { JobWriter } from "./jobs/enqueue.ts";
import { MessageWriter } from "./notifications/sending/send.ts";

/** The writers that store what concurrent requests write in shared statements and commits. */
export const createWriters = ({ sql, wakeUps }: { sql: Pool; wakeUps: WakeUps }) => ({
  jobWriter: new JobWriter(sql),
  auditWriter: new AuditWriter(sql),
  messageWriter: new MessageWriter({ sql, wakeUps }),
  reservationWriter: new ReservationWriter(sql),
});
