import { z } from "zod";
import { transact } from "../../../infra/postgres/postgres.ts";
import type { ReportFormat } from "../../documents/formats.ts";
import { defineJob, type JobContext, PermanentJobFailure } from "../../jobs/job_type.ts";
import { Problem } from "../../problems/problem.ts";
import { DeliveryOptionsShape } from "../delivery/options.ts";
import { requireReceiver } from "../delivery/receivers.ts";
import type { ReportPlatform } from "../platform.ts";
import { checkRequest, queueReport } from "./request_report.ts";
import { readRequester } from "./requester.ts";

const args = z.object({
  templateId: z.string().min(1).max(100),
  format: z.int().min(1).max(4).transform((value) => value as ReportFormat),
  parameters: z.record(z.string(), z.unknown()).default({}),
  delivery: DeliveryOptionsShape.nullish().transform((value) => value ?? null),
});

/**
 * The job type that callers enqueue, once or recurring, to generate a report with the rights of the job's creator. The
 * execution has the same id as the job, so that a second attempt of the job does not create a second execution.
 */
export const reportJob = defineJob({
  name: "steward.report",
  args,
  exposed: true,
  actsForCreator: true,
  run: (request, { platform, db, jobId, tenantId, createdBy }: JobContext<ReportPlatform>) =>
    transact(db, async (tx) => {
      const [existing] = await tx`select from report_executions where id = ${jobId}`;
      if (existing) return { executionId: jobId };
      const requester = await readRequester(tx, { userId: createdBy, tenantId, traceId: null });
      if (!requester) {
        throw new PermanentJobFailure("The job's creator is no longer an active user of the tenant.");
      }
      try {
        const checked = checkRequest(platform, requester, { ...request, requestedBy: null });
        await requireReceiver(platform, tx, tenantId, checked.delivery);
        await queueReport(platform, tx, requester, checked, { id: jobId });
      } catch (error) {
        throw error instanceof Problem ? new PermanentJobFailure(error.message) : error;
      }
      return { executionId: jobId };
    }),
});
