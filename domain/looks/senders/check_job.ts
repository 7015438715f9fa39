import type { Sql } from "../../../infra/postgres/postgres.ts";
import { maintenanceJob } from "../../jobs/maintenance.ts";
import type { LooksPlatform } from "../platform.ts";
import { type Sender, senderColumns } from "../sender.ts";
import { searchRecord, settleCheck } from "./verify.ts";

/** Checks senders that are due, one after the other in the whole service. */
export const checkSendersJob = maintenanceJob<LooksPlatform>({
  name: "looks.check-senders",
  cron: "* * * * *",
  concurrency: 1,
  works: { checked: { limit: 1, run: checkDueSender } },
});

/** Checks the sender that has been due longest. @returns 0 if none is due. */
export async function checkDueSender(p: LooksPlatform): Promise<number> {
  const due = await takeDueSender(p.sql);
  if (!due) return 0;
  const finding = due.method === "Dns" ? await searchRecord(p, due) : "Missing";
  await settleCheck(p, due.id, finding, null);
  return 1;
}

/** Takes the sender that has been due longest. If the check dies, it is due again ten minutes later. */
async function takeDueSender(sql: Sql): Promise<Sender | null> {
  const [row] = await sql<Sender[]>`
    update notification_senders set next_check_at = now() + interval '10 minutes'
    where id = (select id from notification_senders where next_check_at <= now()
      order by next_check_at limit 1 for update skip locked)
    returning ${senderColumns(sql)}`;
  return row ?? null;
}
