import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import type { Platform } from "../../shared/platform.ts";
import { connectTarget, outcomeOfStore, targetKey } from "./bucket_delivery.ts";
import type { Outcome } from "./delivery.ts";
import { postToSlack } from "./slack_delivery.ts";
import { type OpenTarget, openTarget } from "./target_secrets.ts";

const TRIAL_PATH = "steward-test.txt";
const TEXT = "A test of this report target. Reports can be delivered here.";

/**
 * Writes a small object `steward-test.txt` into the bucket and deletes it again, or posts a test message.
 * @returns null if that succeeded, otherwise the reason
 * @throws REPORT_TARGET_NOT_FOUND, REPORT_TARGET_UNAVAILABLE
 */
export async function tryTarget(p: Platform, caller: TenantCaller, id: string): Promise<string | null> {
  const target = await openTarget(p, p.sql, caller.tenantId, id);
  if (!target) throw problem("REPORT_TARGET_NOT_FOUND", `The tenant has no report target ${id}.`);
  const outcome = target.kind === "slack"
    ? await postToSlack(p, target.secret, TEXT)
    : await tryBucket(p, target);
  const reason = outcome.status === "Delivered" ? null : outcome.reason;
  await transact(p.sql, (tx) =>
    recordAudit(tx, caller, {
      action: "reportTarget.test",
      targetType: "reportTarget",
      targetId: id,
      after: { succeeded: reason === null },
    }));
  return reason;
}

async function tryBucket(p: Platform, target: OpenTarget): Promise<Outcome> {
  const store = connectTarget(p, target);
  const key = targetKey(target, TRIAL_PATH);
  try {
    await store.write(key, ReadableStream.from([new TextEncoder().encode(TEXT)]), {
      contentType: "text/plain",
    });
  } catch (error) {
    return outcomeOfStore(error);
  }
  await store.delete(key).catch(() => undefined); // credentials that may only write are enough for deliveries
  return { status: "Delivered" };
}
