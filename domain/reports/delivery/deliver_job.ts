import { z } from "zod";
import { createHttpOut, OutboundRefused } from "../../../infra/http_out/http_out.ts";
import { signatureHeaders } from "../../../infra/http_out/webhook_signature.ts";
import { databaseFailure } from "../../../infra/postgres/failures.ts";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { traceparent } from "../../../infra/telemetry/tracing.ts";
import type { FileRecord } from "../../files/file.ts";
import { copyFileTo, readFileState } from "../../files/service_files.ts";
import { defineJob, DependencyUnavailable, type JobContext, PostponeJob } from "../../jobs/job_type.ts";
import { outageOf } from "../../jobs/outage.ts";
import { LINK_INSTEAD } from "../../notifications/content.ts";
import { readNotificationStatus, sendNotification } from "../../notifications/sending/send.ts";
import { Problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import { listDeliveries } from "../execution.ts";
import type { ReportPlatform } from "../platform.ts";
import { rejectDocument } from "../run.ts";
import { deliverToBucket } from "./bucket_delivery.ts";
import {
  claimDelivery,
  type Deliverable,
  finishDelivery,
  isTemporaryRefusal,
  listOwed,
  type Outcome,
  type OwedDelivery,
  readDeliverable,
  recordOutcome,
} from "./delivery.ts";
import { createReportLink } from "./link.ts";
import { type DeliveryOptions, METHOD } from "./options.ts";
import { deliverToSlack } from "./slack_delivery.ts";
import { openTarget } from "./target.ts";
import { NO_SECRET, readSigningSecrets } from "./webhook_secrets.ts";

const args = z.object({ executionId: z.guid() });
const TIMEOUT_MS = 30 * 60_000;
const MIN_WAIT_MS = 250;
const MAX_WAIT_MS = 60_000;
/** Factor between one wait and the next. */
const WAIT_GROWTH = 1.4;

/**
 * Waits for the scan of an execution's document, then makes the deliveries that are still open (`Owed`). While the scan
 * or a message is not finished, the job postpones itself with a growing delay. A recipient's server that does not
 * answer is treated as an outage. If the document fails its scan, its deliveries fail; without any delivery the
 * execution fails.
 */
export const deliverJob = defineJob({
  name: "steward.report-deliver",
  args,
  timeoutMs: TIMEOUT_MS, // a large document is copied to another bucket
  run: ({ executionId }, context: JobContext<ReportPlatform>) =>
    deliverDocument(context.platform, executionId, context),
});

async function deliverDocument(
  p: ReportPlatform,
  executionId: string,
  context: JobContext<ReportPlatform>,
): Promise<unknown> {
  const execution = await readDeliverable(p.sql, executionId, context.jobId);
  if (!execution) return { delivered: 0 };
  const wait = Math.min(MAX_WAIT_MS, MIN_WAIT_MS * WAIT_GROWTH ** Math.min(context.attempt - 1, 20));
  const file = await readFileState(p.sql, execution.storedFileId);
  const obstacle = obstacleOf(file);
  if (obstacle?.status === "Owed") throw new PostponeJob(obstacle.reason, wait);
  if ((await listDeliveries(p.sql, executionId)).length === 0) {
    const isRejected = obstacle !== null && (file?.status !== "Purged" || file.rejectionCode !== null);
    if (isRejected) await rejectDocument(p, executionId, `${obstacle.reason} It did not pass its scan.`);
    return { delivered: 0 };
  }
  const deliveries = await listOwed(p.sql, executionId);
  let outage: string | null = null;
  const run = crypto.randomUUID();
  for (const delivery of deliveries) {
    context.signal.throwIfAborted();
    if (!await claimDelivery(p.sql, delivery.id, run)) continue;
    const outcome = obstacle ?? await deliver(p, execution, delivery, context);
    if (outcome.status === "Owed" && outcome.isUnavailable) outage = outcome.reason;
    await recordOutcome(p.sql, delivery, run, outcome);
  }
  const owed = await finishDelivery(p, executionId);
  if (owed > 0 && outage !== null) throw new DependencyUnavailable(outage);
  if (owed > 0) throw new PostponeJob(`${owed} deliveries are not settled yet`, wait);
  return { delivered: deliveries.length };
}

/** The reason why a document cannot be delivered: not yet (`Owed`) or never (`Failed`). Null if it can be delivered now. */
function obstacleOf(file: FileRecord | null): Exclude<Outcome, { status: "Delivered" }> | null {
  if (file?.status === "Available") return null;
  if (file?.status === "Pending" || file?.status === "Scanning") {
    return {
      status: "Owed",
      reason: `the document is ${file.status}; it is delivered after a clean scan`,
    };
  }
  return { status: "Failed", reason: `The document is ${file?.status ?? "gone"}.` };
}

/** Attempts one delivery. It fails if the recipient's server stays unavailable longer than jobs wait for an outage. */
async function deliver(
  p: ReportPlatform,
  execution: Deliverable,
  delivery: OwedDelivery,
  { log, signal, waitsForDependencies }: JobContext,
): Promise<Outcome> {
  const outcome = await deliverBy(p, execution, delivery, signal).catch((error): Outcome => {
    if (databaseFailure(error) || signal.aborted) throw error;
    log.error("a report could not be delivered", {
      executionId: execution.id,
      method: delivery.method,
      error,
    });
    return {
      status: "Owed",
      reason: outageOf(error)?.message ?? "An unexpected error occurred; the service's log has the details.",
      isUnavailable: true,
    };
  });
  const isGivenUp = outcome.status === "Owed" && outcome.isUnavailable && !waitsForDependencies;
  return isGivenUp ? { status: "Failed", reason: outcome.reason } : outcome;
}

async function deliverBy(
  p: ReportPlatform,
  execution: Deliverable,
  delivery: OwedDelivery,
  signal: AbortSignal,
): Promise<Outcome> {
  if (delivery.targetId !== null) {
    return await deliverToTarget(p, execution, { ...delivery, targetId: delivery.targetId }, signal);
  }
  switch (delivery.method) {
    case METHOD.Email:
      return await deliverByEmail(p, execution, delivery);
    case METHOD.Storage:
      return await deliverByCopy(p, execution, delivery);
    case METHOD.Webhook:
      return delivery.options.webhookFormat === "slack"
        ? await deliverToSlack(p, execution, delivery.recipient)
        : await deliverByWebhook(p, execution, delivery);
    default:
      return { status: "Failed", reason: `Delivery method ${delivery.method} is not supported.` };
  }
}

async function deliverToTarget(
  p: ReportPlatform,
  execution: Deliverable,
  delivery: OwedDelivery & { targetId: string },
  signal: AbortSignal,
): Promise<Outcome> {
  const target = await openTarget(p, p.sql, execution.tenantId, delivery.targetId);
  if (!target) return { status: "Failed", reason: "The report target was deleted." };
  return target.kind === "slack"
    ? await deliverToSlack(p, execution, target.secret)
    : await deliverToBucket(p, execution, delivery, target, signal);
}

/** Copies the document to its target path in the tenant's delivery folder. Copying again is harmless. */
async function deliverByCopy(
  p: Platform,
  execution: Deliverable,
  { recipient }: OwedDelivery,
): Promise<Outcome> {
  try {
    await copyFileTo(p, execution.storedFileId, recipient);
    return { status: "Delivered" };
  } catch (error) {
    if (error instanceof Problem) return { status: "Failed", reason: error.message };
    throw error;
  }
}

/** A delivery fails after this many refusals, such as status 404. */
const MAX_REFUSALS = 8;

/**
 * Posts a signed message with a link to the document (Standard Webhooks). The message id is the delivery's id, so that
 * a receiver can detect repetitions. Any 2xx status means delivered; 410 means failed at once. An unreachable or
 * temporarily failing receiver is retried for a day; one that refuses is tried MAX_REFUSALS times.
 */
async function deliverByWebhook(
  p: Platform,
  execution: Deliverable,
  { id, recipient, attempts }: OwedDelivery,
): Promise<Outcome> {
  const secrets = await readSigningSecrets(p, p.sql, execution.tenantId);
  if (secrets.length === 0) {
    return { status: "Failed", reason: `The message cannot be signed: ${NO_SECRET}.` };
  }
  const { url, expiresAt } = await createReportLink(p, p.sql, execution.id);
  const now = p.clock.now();
  const body = JSON.stringify({
    type: "report.completed",
    timestamp: now.toISOString(),
    data: {
      executionId: execution.id,
      templateId: execution.templateId,
      fileName: execution.fileName,
      contentType: execution.contentType,
      url,
      expiresAt,
      ...(execution.burstId ? { burstId: execution.burstId, burstValue: execution.burstValue } : {}),
    },
  });
  const headers = {
    "content-type": "application/json",
    "user-agent": "steward-webhook",
    ...signatureHeaders(secrets, id, now, body),
    ...(execution.traceId ? { traceparent: traceparent(execution.traceId) } : {}),
  };
  try {
    const { status } = await createHttpOut({ allow: p.config.OUTBOUND_ALLOW })
      .send({ url: recipient, method: "POST", headers, body });
    if (status >= 200 && status < 300) return { status: "Delivered" };
    const reason = `The receiver answered ${status}.`;
    if (isTemporaryRefusal(status)) return { status: "Owed", reason, isUnavailable: true };
    return { status: status === 410 || attempts + 1 >= MAX_REFUSALS ? "Failed" : "Owed", reason };
  } catch (error) {
    if (error instanceof OutboundRefused) return { status: "Failed", reason: `Refused: ${error.message}.` };
    const reason = `The receiver could not be reached: ${(error as Error).message}`;
    return { status: "Owed", reason, isUnavailable: true };
  }
}

/** A larger document is sent as a link. A smaller one is attached, or linked if the mail server rejects its size. */
const MAX_ATTACHMENT_BYTES = 10 * 1024 * 1024;

/**
 * Sends one recipient one message. It is sent once, because the message id is stored in the transaction that creates
 * the message. The delivery is Delivered when the mail provider has accepted the message.
 */
export async function deliverByEmail(
  p: ReportPlatform,
  execution: Deliverable,
  delivery: OwedDelivery,
): Promise<Outcome> {
  if (delivery.notificationId) return await outcomeOf(p, delivery.notificationId);
  const attach = (execution.fileSizeBytes ?? 0) <= MAX_ATTACHMENT_BYTES;
  const { emailSubject } = delivery.options;
  const { id, tenantId, createdBy, traceId, storedFileId } = execution;
  try {
    const earlier = await transact(p.sql, async (tx): Promise<string | null> => {
      // Two jobs may deliver at the same time while one replaces the other. The one that locks the row first sends.
      const [owed] = await tx<{ notificationId: string | null }[]>`
        select notification_id from report_deliveries where id = ${delivery.id} and status = 'Owed' for update`;
      if (!owed || owed.notificationId) return owed?.notificationId ?? null;
      const { notificationId } = await sendNotification(p, tx, { tenantId, userId: createdBy, traceId }, {
        channel: "Email",
        recipients: [{ address: delivery.recipient }],
        templateSlug: "report-ready",
        templateData: await templateData(p, tx, execution, delivery.options, !attach),
        ...(emailSubject ? { subject: emailSubject } : {}),
        ...(attach
          ? {
            attachments: [{
              fileId: storedFileId,
              fileName: execution.fileName ?? id,
              contentType: execution.contentType ?? "application/octet-stream",
            }],
          }
          : {}),
      });
      await tx`update report_deliveries set notification_id = ${notificationId} where id = ${delivery.id}`;
      return null;
    });
    if (earlier) return await outcomeOf(p, earlier);
  } catch (error) {
    if (error instanceof Problem) return { status: "Failed", reason: error.message };
    throw error;
  }
  return { status: "Owed", reason: "the message is being sent" };
}

async function templateData(
  p: ReportPlatform,
  tx: Tx,
  { id, reportName }: Deliverable,
  { emailBody }: DeliveryOptions,
  isLinked: boolean,
): Promise<Record<string, unknown>> {
  const data = { reportName, ...(emailBody ? { message: emailBody } : {}) };
  const { url, expiresAt } = await createReportLink(p, tx, id);
  const link = {
    downloadUrl: url,
    expiresAt: `${expiresAt.toISOString().slice(0, 16).replace("T", " ")} UTC`,
  };
  return isLinked ? { ...data, ...link } : { ...data, [LINK_INSTEAD]: link };
}

async function outcomeOf(p: ReportPlatform, notificationId: string): Promise<Outcome> {
  const message = await readNotificationStatus(p.sql, notificationId);
  if (!message) return { status: "Failed", reason: "The message was deleted." };
  const [recipient] = message.recipients;
  if (recipient?.status === "Refused") {
    return { status: "Failed", reason: recipient.errorMessage ?? "The mail server refused the recipient." };
  }
  if (message.status === "Sent") return { status: "Delivered" };
  if (message.status === "DeadLettered" || message.status === "Cancelled") {
    return { status: "Failed", reason: message.lastError ?? `The message is ${message.status}.` };
  }
  return { status: "Owed", reason: `the message is ${message.status}` };
}
