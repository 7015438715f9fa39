import { type Problem, problem } from "../problems/problem.ts";
import type { FileRow } from "./file.ts";

/** Number of workers that died while they ran only the scan of a file, after which the file is given up. */
export const MAX_LONE_DEATHS = 3;

/** Scans of a file that have not ended and whose workers' leases are gone. */
export interface MissedScans {
  count: number;
  /** Number of these scans whose worker ran no other job. */
  aloneCount: number;
  /** True if an earlier attempt found all of them missing: a worker that only lost the database would have come back. */
  areAllKnown: boolean;
}

/**
 * Decides the next step for a file after scans that did not end. A dead worker makes the file suspect. It is then scanned
 * alone if the other jobs of the worker end soon, because one of them may have killed the worker. After several dead workers
 * it is scanned only alone, so that a deadly file kills no further jobs. Only workers that ran nothing but the scan of this
 * file count against it.
 */
export function afterMissedScans(
  { count, aloneCount, areAllKnown }: MissedScans,
): "Scan" | "TryAlone" | "ScanAlone" | "AskAgain" | "GiveUp" {
  if (count === 0) return "Scan";
  if (count < MAX_LONE_DEATHS) return "TryAlone";
  if (aloneCount < MAX_LONE_DEATHS) return "ScanAlone";
  return areAllKnown ? "GiveUp" : "AskAgain";
}

type StateFields = Pick<FileRow, "status" | "purgedAt" | "purgeReason" | "rejectionCode">;

/**
 * The problem for an operation that needs an Available file: FILE_INFECTED_CONFLICT, FILE_PURGED_CONFLICT (with time
 * and reason) or FILE_NOT_AVAILABLE_CONFLICT.
 */
export function stateConflict(file: StateFields): Problem {
  if (file.status === "Purged") return purgedConflict(file);
  if (file.status === "Infected") {
    return problem("FILE_INFECTED_CONFLICT", "The scan found the file infected; it cannot be downloaded.");
  }
  return problem(
    "FILE_NOT_AVAILABLE_CONFLICT",
    `The file is ${file.status}; expected Available.`,
  );
}

/** @throws FILE_NOT_AVAILABLE_CONFLICT, FILE_INFECTED_CONFLICT, FILE_PURGED_CONFLICT */
export function requireAvailable(file: StateFields): void {
  if (file.status !== "Available") throw stateConflict(file);
}

/** FILE_PURGED_CONFLICT with time and reason, as text in the detail and machine-readable in `errors`. */
export function purgedConflict({ purgedAt, purgeReason, rejectionCode }: StateFields): Problem {
  const at = purgedAt?.toISOString() ?? "";
  const because = purgeReason ?? "";
  const rejected = rejectionCode === null ? "" : ` (${rejectionCode})`;
  return problem("FILE_PURGED_CONFLICT", `The file was purged at ${at}: ${because}${rejected}.`, {
    errors: {
      purgedAt: [at],
      purgeReason: [because],
      ...(rejectionCode === null ? {} : { rejectionCode: [rejectionCode] }),
    },
  });
}
