import { enumName, instant, storedText } from "../shared/shapes.ts";
import { z } from "zod";
import { transact } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { incoherent, problem } from "../problems/problem.ts";
import type { Caller } from "../rights/caller.ts";
import type { RightsPlatform } from "../rights/platform.ts";
import { holdsAdminSystemAnywhere } from "../rights/system_admin.ts";
import { requireVersion } from "../shared/version.ts";
import {
  type FileRow,
  lockVisibleFile,
  requireProductManager,
  requireSystemAdmin,
  RETENTION_CLASSES,
  type RetentionClass,
} from "./file.ts";
import { purgedConflict } from "./file_state.ts";
import { discardObjects } from "./objects.ts";

/** The settings that decide how long a file is kept. */
type Retention = Pick<FileRow, "retentionClass" | "retainUntil" | "legalHold">;
type Hold = Pick<FileRow, "legalHoldBy" | "legalHoldSince" | "legalHoldReason">;

/**
 * Absent members stay unchanged. `retentionClass` and `legalHold` cannot be empty, so null also leaves them unchanged.
 */
export const RetentionChange = z.object({
  retentionClass: enumName(RETENTION_CLASSES).nullish(),
  retainUntil: instant.nullish(),
  legalHold: z.boolean().nullish(),
  reason: storedText(1000).nullish(),
}).meta({
  id: "RetentionRequest",
  description: "Omitted fields keep their values; retainUntil null removes the date.",
});
type RetentionChange = z.output<typeof RetentionChange>;

/**
 * Changes how long a file is kept. Checks run in this order: consistent values, file state, permissions, not shorter
 * than before, version.
 * @throws FILE_NOT_FOUND, 400 without code, FILE_PURGED_CONFLICT, MISSING_PERMISSION,
 * FILE_RETENTION_SHORTENED_UNPROCESSABLE, PRECONDITION_FAILED
 */
export async function changeRetention(
  p: Pick<RightsPlatform, "sql" | "clock" | "rights">,
  caller: Caller,
  fileId: string,
  change: RetentionChange,
  ifMatch: string | null,
): Promise<FileRow> {
  const mayRelease = change.legalHold === false && await holdsAdminSystemAnywhere(p.rights, caller);
  return await transact(p.sql, async (tx) => {
    const file = await lockVisibleFile(tx, caller, fileId);
    const next = mergeRetention(file, change);
    requireCoherence(next, change, p.clock.now());
    if (file.status === "Purged") throw purgedConflict(file);
    if (file.tenantId === null) {
      await requireProductManager(tx, caller, "Changing the retention of a product file");
    }
    if (file.legalHold && !next.legalHold) requireSystemAdmin(mayRelease, "Releasing a legal hold");
    requireNotShorter(file, next, p.clock.now());
    requireVersion(ifMatch, file.version);
    if (isSame(file, next)) return file;

    const reason = change.reason ?? null;
    const set = { legalHoldBy: caller.userId, legalHoldSince: p.clock.now(), legalHoldReason: reason };
    const held = holdAfter(file, next, set);
    const [row] = await tx<FileRow[]>`
      update files set retention_class = ${next.retentionClass}, retain_until = ${next.retainUntil},
        legal_hold = ${next.legalHold}, legal_hold_by = ${held.legalHoldBy}, legal_hold_since = ${held.legalHoldSince},
        legal_hold_reason = ${held.legalHoldReason}, version = version + 1
      where id = ${fileId} returning *`;
    // A hold kept the content of a file that a rescan found infected.
    if (file.status === "Infected" && !next.legalHold) await discardObjects(tx, [fileId], p.clock.now());
    await recordAudit(tx, caller, "file.retention", fileId, {
      before: mergeRetention(file, {}),
      after: { ...next, reason },
    });
    return row ?? file;
  });
}

/** The user who set the hold that applies after the change: the caller if the hold is new. */
const holdAfter = (file: FileRow, next: Retention, set: Hold): Hold =>
  next.legalHold
    ? file.legalHold ? file : set
    : { legalHoldBy: null, legalHoldSince: null, legalHoldReason: null };

/** The settings after the change. A file that becomes Permanent loses its `retainUntil`. */
function mergeRetention(file: Retention, change: RetentionChange): Retention {
  const becomesPermanent = change.retentionClass === "Permanent";
  const unchangedDate = becomesPermanent ? null : file.retainUntil;
  return {
    retentionClass: change.retentionClass ?? file.retentionClass,
    retainUntil: change.retainUntil === undefined ? unchangedDate : change.retainUntil,
    legalHold: change.legalHold ?? file.legalHold,
  };
}

function requireCoherence(next: Retention, change: RetentionChange, now: Date): void {
  if (next.retentionClass === "Permanent" && next.retainUntil !== null) {
    throw incoherent("A Permanent file cannot have a retainUntil; found one.");
  }
  if (next.retentionClass === "Temporary" && next.retainUntil === null) {
    throw incoherent("A Temporary file needs a retainUntil; found none.");
  }
  if (change.retainUntil && change.retainUntil <= now) {
    throw incoherent(
      `retainUntil is ${change.retainUntil.toISOString()}; expected a time in the future.`,
    );
  }
}

const rank = (retentionClass: RetentionClass) => RETENTION_CLASSES.indexOf(retentionClass);

function requireNotShorter(file: Retention, next: Retention, now: Date): void {
  if (rank(next.retentionClass) < rank(file.retentionClass)) {
    throw problem(
      "FILE_RETENTION_SHORTENED_UNPROCESSABLE",
      `The file is ${file.retentionClass}; ${next.retentionClass} would keep it for a shorter time.`,
    );
  }
  if (!file.retainUntil || next.retentionClass === "Permanent") return;
  const isShorter = next.retainUntil ? next.retainUntil < file.retainUntil : now < file.retainUntil;
  if (isShorter) {
    throw problem(
      "FILE_RETENTION_SHORTENED_UNPROCESSABLE",
      `The file is kept until ${file.retainUntil.toISOString()}; found ` +
        `${next.retainUntil?.toISOString() ?? "no date"}, expected the same time or later.`,
    );
  }
}

const isSame = (a: Retention, b: Retention): boolean =>
  a.retentionClass === b.retentionClass && a.retainUntil?.getTime() === b.retainUntil?.getTime() &&
  a.legalHold === b.legalHold;
