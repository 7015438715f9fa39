import { type SqlPart, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { recordAudit, recordAudits } from "../audit/audit.ts";
import { type Problem, problem, type ProblemCode } from "../problems/problem.ts";
import type { Caller } from "../rights/caller.ts";
import type { RightsPlatform } from "../rights/platform.ts";
import { holdsAdminSystemAnywhere } from "../rights/system_admin.ts";
import type { Platform } from "../shared/platform.ts";
import {
  type FileRecord,
  fileRecord,
  type FileRow,
  type FileStatus,
  lockVisibleFile,
  requireProductManager,
  requireSystemAdmin,
} from "./file.ts";
import { emitFilesPurged } from "./file_events.ts";
import { requireAvailable } from "./file_state.ts";
import { deleteDiscarded, discardObjects } from "./objects.ts";
import { holdingScopes } from "./references.ts";

/**
 * Destroys a file's content at a caller's request and keeps the row as a tombstone. Checks run in this order:
 * permissions, state, legal hold, references.
 * @throws FILE_NOT_FOUND, MISSING_PERMISSION, FORBIDDEN, FILE_NOT_AVAILABLE_CONFLICT, FILE_INFECTED_CONFLICT,
 * FILE_PURGED_CONFLICT, FILE_LEGAL_HOLD_CONFLICT, FILE_STILL_REFERENCED_CONFLICT
 */
export async function purgeFile(
  p: Pick<RightsPlatform, "sql" | "objects" | "clock" | "log" | "wakeUps" | "rights">,
  caller: Caller,
  fileId: string,
  reason: string,
): Promise<FileRecord> {
  const mayPurgePermanent = await holdsAdminSystemAnywhere(p.rights, caller);
  const tombstone = await transact(p.sql, async (tx) => {
    const file = await lockVisibleFile(tx, caller, fileId);
    if (file.tenantId === null) await requireProductManager(tx, caller, "Purging a product file");
    if (file.retentionClass === "Permanent") {
      requireSystemAdmin(mayPurgePermanent, "Purging a Permanent file");
    }
    requireAvailable(file);
    if (file.legalHold) {
      throw problem("FILE_LEGAL_HOLD_CONFLICT", "The file is under legal hold and cannot be purged.");
    }
    if (file.referenceCount > 0) throw await stillReferenced(tx, file);
    const [purged] = await purgeFiles(p, tx, { which: tx`id = ${fileId}`, reason, purgedBy: caller.userId });
    if (!purged) throw new Error("a locked Available file could not be purged");
    await recordAudit(tx, caller, "file.purge", fileId, {
      before: {
        status: file.status,
        tenantId: file.tenantId,
        sha256: file.sha256,
        sizeBytes: file.sizeBytes,
      },
      after: { status: "Purged", reason },
    });
    return purged;
  });
  await deleteDiscarded(p, [fileId]);
  return fileRecord(tombstone);
}

const SCOPES_IN_TEXT = 10;

async function stillReferenced(tx: Tx, file: FileRow): Promise<Problem> {
  const scopes = await holdingScopes(tx, file.id);
  const listed = scopes.slice(0, SCOPES_IN_TEXT).join(", ") +
    (scopes.length > SCOPES_IN_TEXT ? " and others" : "");
  return problem(
    "FILE_STILL_REFERENCED_CONFLICT",
    `The file has ${file.referenceCount} reference(s) in ${listed}; release them before the purge.`,
    { errors: scopes },
  );
}

/** The files to purge, and why. */
interface Purging {
  /** SQL condition on rows of `files`. */
  which: SqlPart;
  /** Their status for the audit log; absent: not the same for all. */
  from?: FileStatus;
  reason: string;
  rejectionCode?: ProblemCode;
  /** Absent if the service itself purges. */
  purgedBy?: string;
}

/**
 * Turns files into tombstones and marks their objects for deletion; the caller deletes them after the commit. If the service
 * itself purges, audit rows are written too.
 * @returns the tombstones
 */
export async function purgeFiles(
  p: Pick<Platform, "wakeUps" | "clock">,
  tx: Tx,
  { which, from, reason, rejectionCode, purgedBy }: Purging,
): Promise<FileRow[]> {
  const now = p.clock.now();
  const rows = await tx<FileRow[]>`
    update files set status = 'Purged', purge_reason = ${reason}, purged_at = ${now},
      purged_by = ${purgedBy ?? null}, rejection_code = ${rejectionCode ?? null}, scan_due_at = null,
      version = version + 1
    where ${which} returning *`;
  if (rows.length === 0) return rows;
  await discardObjects(tx, rows.map(({ id }) => id), now);
  await emitFilesPurged(p, tx, rows);
  if (purgedBy === undefined) {
    const entries = rows.map(({ id, tenantId, sha256, sizeBytes, rejectionCode }) => ({
      action: "file.purge",
      targetType: "file",
      targetId: id,
      tenantId,
      before: { ...(from ? { status: from } : {}), sha256, sizeBytes },
      after: { status: "Purged", reason, rejectionCode },
    }));
    await recordAudits(tx, null, entries);
  }
  return rows;
}
