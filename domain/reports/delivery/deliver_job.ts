import { z } from "zod";
import { readFileState } from "../../files/service_files.ts";
import { defineJob, type JobType, PostponeJob } from "../../jobs/job_type.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Execution } from "../execution.ts";
import { deliverByCopy } from "./by_copy.ts";
import { deliverByWebhook } from "./by_webhook.ts";
import { deliverByEmail } from "./by_email.ts";
import {
  listOwed,
  type Outcome,
  type OwedDelivery,
  readDeliverable,
  recordOutcome,
  sumUpDelivery,
} from "./delivery.ts";
import { METHOD } from "./options.ts";

const args = z.object({ executionId: z.uuid() });
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 60_000;

type Deliverable = Execution & { storedFileId: string };

/**
 * Delivers an execution's document to everybody it is owed to. Waits for the scan, for messages to be sent and for
 * receivers that do not answer by stepping aside, each time for longer.
 */
export const deliverJob = (p: Platform): JobType<z.output<typeof args>> =>
  defineJob({
    name: "steward.report-deliver",
    args,
    run: async ({ executionId }, { jobId, attempt, log }) => {
      const execution = await readDeliverable(p.sql, executionId, jobId);
      if (!execution) return { delivered: 0 };
      const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attempt - 1, 10));
      const obstacle = await fileObstacle(p, execution.storedFileId);
      if (obstacle?.status === "Owed") throw new PostponeJob(obstacle.reason, wait);
      const deliveries = await listOwed(p.sql, executionId);
      for (const delivery of deliveries) {
        const outcome = obstacle ?? await deliver(p, execution, delivery).catch((error): Outcome => {
          log.error("a report could not be delivered", { executionId, method: delivery.method, error });
          return { status: "Owed", reason: "Something failed unexpectedly; the service's log has it." };
        });
        await recordOutcome(p.sql, delivery.id, outcome);
      }
      const owed = await sumUpDelivery(p, executionId);
      if (owed > 0) throw new PostponeJob(`${owed} deliveries are not settled yet`, wait);
      return { delivered: deliveries.length };
    },
  });

/** Why the document cannot be delivered now, or ever; null when it can. */
async function fileObstacle(p: Platform, fileId: string): Promise<Outcome | null> {
  const file = await readFileState(p.sql, fileId);
  if (file?.status === "Available") return null;
  if (file?.status === "Pending" || file?.status === "Scanning") {
    return {
      status: "Owed",
      reason: `the document is ${file.status}; it is delivered when the scan has passed it`,
    };
  }
  return { status: "Failed", reason: `The document is ${file?.status ?? "gone"}.` };
}

async function deliver(p: Platform, execution: Deliverable, delivery: OwedDelivery): Promise<Outcome> {
  switch (delivery.method) {
    case METHOD.Email:
      return await deliverByEmail(p, execution, delivery);
    case METHOD.Storage:
      return await deliverByCopy(p, execution, delivery);
    case METHOD.Webhook:
      return await deliverByWebhook(p, execution, delivery);
    default:
      return { status: "Failed", reason: `No document is delivered by method ${delivery.method}.` };
  }
}
