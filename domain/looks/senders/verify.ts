import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import type { Actor } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { digest } from "../../shared/secrets.ts";
import type { LooksPlatform } from "../platform.ts";
import { auditSender, mailLink, PROOF_TIME, replaceDefault, writeSender } from "./change.ts";
import {
  countProof,
  type Finding,
  lockSenders,
  MAX_MISSES,
  recordError,
  searchRecord,
  takeDue,
  verifiedInterval,
} from "./proofs.ts";
import { readSender, recordName, type Sender, senderColumns } from "../sender.ts";
import { maintenanceJob } from "../../jobs/maintenance.ts";

/** The record of a sender. */
const recordOf = (sender: Sender) => ({ name: recordName(sender), value: sender.dnsValue });

/**
 * Checks a sender at once: it queries the record, or mails a new link. A failed sender becomes Pending. A sender that is
 * already verified by mail stays unchanged.
 * @throws NOTIFICATION_SENDER_NOT_FOUND, RATE_LIMITED
 */
export async function verifySender(p: LooksPlatform, caller: TenantCaller, id: string): Promise<Sender> {
  const { tenantId } = caller;
  const sender = await transact(p.sql, async (tx) => {
    await lockSenders(tx, tenantId);
    const before = await readSender(tx, tenantId, id, tx`for update`);
    if (before.method === "Mail" && before.status === "Verified") return before;
    if (before.method === "Dns") await countProof(tx, tenantId);
    const open = before.status === "Verified" ? before : await writeSender(
      tx,
      id,
      tx`status = 'Pending', misses = 0, last_error = null,
        proof_ends_at = now() + ${PROOF_TIME[before.method]}::text::interval, version = version + 1,
        next_check_at = now() + ${before.method === "Dns" ? "1 minute" : PROOF_TIME.Mail}::text::interval`,
    );
    if (before.method === "Mail") await mailLink(p, tx, caller, id);
    return open;
  });
  if (sender.method === "Mail") return sender;
  const settled = await settleCheck(p, sender.id, await searchRecord(p, recordOf(sender)), caller, true);
  return settled ?? await readSender(p.sql, tenantId, id);
}

/**
 * Writes the result of a check. A pending sender becomes Verified if the record was found, and Failed if it was not found
 * until the end of its time. A verified sender becomes Failed after three checks without the record. Mails then come from
 * MAIL_FROM, and the tenant's administrators are notified.
 * @param isRequested true if a caller asked for the check. Such a check neither fails a verified sender nor postpones its
 * daily checks. Otherwise three requests in a row would fail it.
 * @returns null if the sender was deleted or failed during the check
 */
async function settleCheck(
  p: LooksPlatform,
  id: string,
  finding: Finding,
  actor: Actor,
  isRequested = false,
): Promise<Sender | null> {
  return await transact(p.sql, async (tx) => {
    const before = await lockOpenSender(tx, id);
    if (!before) return null;
    if (finding === "Found" || before.method === "Mail" && before.status === "Verified") {
      return await verify(tx, before, actor);
    }
    if (isRequested && before.status === "Verified") {
      return await writeSender(tx, id, tx`checked_at = now(), last_error = ${errorOf(before, finding)}`);
    }
    const misses = before.misses + (finding === "Missing" ? 1 : 0);
    const isOver = before.status === "Pending" && before.isTimeOver;
    const isLost = before.status === "Verified" && misses >= MAX_MISSES;
    if (!isOver && !isLost) {
      const checked = tx`misses = ${misses}, checked_at = now(), last_error = ${errorOf(before, finding)},
        next_check_at = now() + ${nextCheck(before, finding)}::text::interval`;
      return await writeSender(tx, id, checked);
    }
    const failed = tx`status = 'Failed', misses = ${misses}, checked_at = now(), next_check_at = null,
      token_hash = null, last_error = ${errorOf(before, finding)}, version = version + 1`;
    const after = await writeSender(tx, id, failed);
    await auditSender(tx, isLost ? null : actor, "fail", after, before);
    if (isLost) await p.senderNotices.notifyLost(tx, after);
    return after;
  });
}

/** Locks a sender that has not failed. It locks its tenant's senders first, in the order of `lockSenders`. */
async function lockOpenSender(tx: Tx, id: string): Promise<Sender & { isTimeOver: boolean } | null> {
  const [known] = await tx<{ tenantId: string }[]>`
    select tenant_id from notification_senders where id = ${id}`;
  if (!known) return null;
  await lockSenders(tx, known.tenantId);
  const [row] = await tx<(Sender & { isTimeOver: boolean })[]>`
    select *, proof_ends_at <= now() as is_time_over from notification_senders
    where id = ${id} and status <> 'Failed' for update`;
  return row ?? null;
}

/** Sets a sender to Verified. The first one of a tenant becomes its default. The senders of the tenant are locked. */
async function verify(tx: Tx, before: Sender, actor: Actor): Promise<Sender> {
  const [known] = await tx`
    select from notification_senders where tenant_id = ${before.tenantId} and is_default and status = 'Verified'`;
  const becomesDefault = before.status === "Pending" && !known;
  if (becomesDefault) await replaceDefault(tx, before);
  const isNew = before.status !== "Verified";
  const verified = tx`status = 'Verified', is_default = ${before.isDefault || becomesDefault}, misses = 0,
    last_error = null, token_hash = null, checked_at = now(), version = version + ${isNew ? 1 : 0},
    verified_at = case when status = 'Verified' then verified_at else now() end,
    next_check_at = ${before.method === "Dns" ? tx`now() + interval '1 day'` : null}`;
  const after = await writeSender(tx, before.id, verified);
  if (isNew) await auditSender(tx, actor, "verify", after, before);
  return after;
}

const errorOf = (sender: Sender, finding: Finding): string =>
  sender.method === "Mail"
    ? "The mailed link was not used within 24 hours."
    : recordError(recordOf(sender), finding);

/**
 * The interval until the next check, for Postgres. The record of a pending sender is queried at growing intervals, that of
 * a verified one daily, or after an hour if the name server did not answer. A name server without an answer costs the job
 * seconds in which it checks no other sender, so a pending sender then waits 30 minutes.
 */
function nextCheck({ status, misses }: Sender, finding: Finding): string {
  if (status === "Verified") return verifiedInterval(finding);
  return `${finding === "Unknown" ? 30 : Math.min(2 ** misses, 60)} minutes`;
}

/** The tenant of the sender that a mailed link confirms. @throws NOTIFICATION_SENDER_TOKEN_INVALID */
export async function readConfirmedTenant(q: Sql, token: string): Promise<string> {
  const [open] = await q<{ tenantId: string }[]>`
    select tenant_id from notification_senders
    where token_hash = ${digest(token)} and status = 'Pending' and proof_ends_at > now()`;
  if (!open) throw badToken();
  return open.tenantId;
}

/** Verifies the sender of a mailed link. @throws NOTIFICATION_SENDER_TOKEN_INVALID */
export async function confirmSender(
  sql: Sql,
  token: string,
  origin: { traceId: string; ip: string | null },
): Promise<Sender> {
  return await transact(sql, async (tx) => {
    const [known] = await tx<{ id: string; tenantId: string }[]>`
      select id, tenant_id from notification_senders where token_hash = ${digest(token)}`;
    if (!known) throw badToken();
    await lockSenders(tx, known.tenantId);
    const [open] = await tx<Sender[]>`
      select * from notification_senders
      where id = ${known.id} and token_hash = ${digest(token)} and status = 'Pending'
        and proof_ends_at > now() for update`;
    if (!open) throw badToken();
    return await verify(tx, open, { userId: null, tenantId: known.tenantId, ...origin });
  });
}

const badToken = () =>
  problem(
    "NOTIFICATION_SENDER_TOKEN_INVALID",
    "The link was already used, is older than 24 hours, or is wrong.",
  );

/** Checks senders that are due, one after the other in the whole service. */
export const checkSendersJob = maintenanceJob<LooksPlatform>({
  name: "looks.check-senders",
  cron: "* * * * *",
  concurrency: 1,
  works: { checked: { limit: 1, run: checkDueSender } },
});

/** Checks the sender that has been due longest. @returns 0 if none is due. */
export async function checkDueSender(p: LooksPlatform): Promise<number> {
  const due = await takeDue<Sender>(p.sql, "notification_senders", senderColumns(p.sql));
  if (!due) return 0;
  const finding = due.method === "Dns" ? await searchRecord(p, recordOf(due)) : "Missing";
  await settleCheck(p, due.id, finding, null);
  return 1;
}
