import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { defineJob, type JobContext } from "../../jobs/job_type.ts";
import type { LooksPlatform } from "../platform.ts";
import { type Sender, senderColumns } from "./sender.ts";
import { searchRecord, settleCheck } from "./verify.ts";

/** Checks senders that are due, one after the other in the whole service. */
export const checkSendersJob = defineJob({
  name: "looks.check-senders",
  args: z.object({}),
  cron: "* * * * *",
  concurrency: 1,
  maxRetries: 0,
  run: async (_args, { platform, signal }: JobContext<LooksPlatform>) => ({
    checked: await checkDueSenders(platform, signal),
  }),
});

/** @returns how many senders were checked. */
export async function checkDueSenders(p: LooksPlatform, signal?: AbortSignal): Promise<number> {
  let checked = 0;
  while (!signal?.aborted) {
    const due = await takeDueSender(p.sql);
    if (!due) break;
    const finding = due.method === "Dns" ? await searchRecord(p, due) : "Missing";
    await settleCheck(p, due.id, finding, null);
    checked++;
  }
  return checked;
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
