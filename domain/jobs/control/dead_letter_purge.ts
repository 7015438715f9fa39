import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import { type DeadLetterFilter, matches } from "./dead_letter_groups.ts";
import { deadLetterVersion, readDeadLetter } from "../lists/dead_letter_list.ts";
import { countRows } from "../../shared/lists.ts";
import { requireVersion } from "../../shared/version.ts";
import { auditActor, type JobActor, type JobReach, jobReach, within } from "../reach.ts";

/** Nothing is older; more days lead to times that the database does not have. */
const MAX_DAYS = 36_500;

export interface Purge {
  reach: JobReach;
  /** Deletes only what failed more than this many days ago; null: of any age. */
  retentionDays: number | null;
  /** Deletes only what matches and was not retried; null: also what was retried. */
  filter: DeadLetterFilter | null;
  /** The number that must match; null: any. */
  expectedCount: number | null;
  /** Only counts. */
  dryRun: boolean;
}

/**
 * Deletes dead letters in one transaction.
 * @returns how many were deleted; for a dry run also how many match.
 * @throws JOB_DEADLETTER_COUNT_CONFLICT when another number than `expectedCount` matches; then none is deleted
 */
export async function purgeDeadLetters(
  sql: Sql,
  caller: JobActor,
  o: Purge,
): Promise<{ purged: number; matched?: number }> {
  const { reach, retentionDays, filter, expectedCount, dryRun } = o;
  const daysBack = Math.min(retentionDays ?? 0, MAX_DAYS);
  return await transact(sql, async (tx) => {
    const chosen = tx`${filter ? matches(tx, { filter, reach }) : within(tx, reach)}
      ${retentionDays === null ? tx`` : tx`and failed_at < now() - make_interval(days => ${daysBack})`}`;
    if (dryRun || expectedCount !== null) {
      const matched = await countRows(tx, tx`dead_letter_jobs where ${chosen}`);
      requireCount(matched, expectedCount);
      if (dryRun) return { purged: 0, matched };
    }
    const { count } = await tx`delete from dead_letter_jobs where ${chosen}`;
    requireCount(count, expectedCount); // others may have failed, or were retried, since they were counted
    await recordAudit(
      tx,
      auditActor(caller),
      "deadLetter.purge",
      reach.everything ? "everything" : reach.tenantId,
      { after: { retentionDays, ...filter, purged: count } },
    );
    return { purged: count };
  });
}

/**
 * Deletes one dead letter that was not retried.
 * @throws JOB_DEADLETTER_NOT_FOUND, PRECONDITION_FAILED, JOB_DEADLETTER_ALREADY_RETRIED
 */
export async function discardDeadLetter(
  sql: Sql,
  caller: JobActor,
  id: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(sql, async (tx) => {
    const reach = jobReach(caller);
    const [discarded] = await tx<{ jobId: string; jobTypeName: string }[]>`
      delete from dead_letter_jobs where id = ${id} and ${within(tx, reach)} and retried_at is null
      returning job_id, job_type_name`;
    const found = discarded ? { retriedAt: null, retriedJobId: null } : await readDeadLetter(tx, reach, id);
    requireVersion(ifMatch, deadLetterVersion(found));
    if (!discarded) {
      const { retriedJobId } = found;
      throw problem(
        "JOB_DEADLETTER_ALREADY_RETRIED",
        `Dead letter ${id} was not deleted: it was retried, as job ${retriedJobId}.`,
      );
    }
    await recordAudit(tx, auditActor(caller), "deadLetter.discard", id, { before: discarded });
  });
}

function requireCount(matched: number, expected: number | null): void {
  if (expected === null || matched === expected) return;
  throw problem(
    "JOB_DEADLETTER_COUNT_CONFLICT",
    `The purge matches ${matched} dead letters; expected ${expected}. None was deleted.`,
  );
}
