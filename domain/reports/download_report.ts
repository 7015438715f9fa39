import { transact } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { signFileDownload } from "../files/service_files.ts";
import { problem } from "../problems/problem.ts";
import type { Caller } from "../rights/caller.ts";
import type { Platform } from "../shared/platform.ts";
import { countDownload, readVisibleExecution } from "./execution.ts";
import { STATUS } from "./status.ts";

/**
 * Signs a short-lived download URL of an execution's document and counts a download.
 * @throws REPORT_NOT_FOUND, MISSING_PERMISSION, REPORT_NOT_AVAILABLE, FILE_NOT_AVAILABLE_CONFLICT,
 * FILE_INFECTED_CONFLICT, FILE_PURGED_CONFLICT
 */
export async function downloadReport(
  p: Platform,
  caller: Caller,
  id: string,
): Promise<{ url: string; expiresAt: Date }> {
  const { status, storedFileId } = await readVisibleExecution(p.sql, caller, id);
  const isReady = status === STATUS.Completed || status === STATUS.Delivered;
  if (!isReady || storedFileId === null) {
    const name = Object.entries(STATUS).find(([, value]) => value === status)?.[0];
    throw problem("REPORT_NOT_AVAILABLE", `The execution is ${name}; expected Completed or Delivered.`);
  }
  const { url, expiresAt } = await signFileDownload(p, storedFileId);
  await transact(p.sql, async (tx) => {
    await countDownload(tx, id);
    await recordAudit(tx, caller, {
      action: "report.download-url",
      targetType: "report",
      targetId: id,
      after: { storedFileId, expiresAt },
    });
  });
  return { url, expiresAt };
}
