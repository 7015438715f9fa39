import { type Problem, problem } from "../problems/problem.ts";
import type { FileRow } from "./file.ts";

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
