import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { LINK_INSTEAD } from "../../notifications/content.ts";
import { readNotificationStatus, sendNotification } from "../../notifications/sending/send.ts";
import { Problem } from "../../problems/problem.ts";
import type { ReportPlatform } from "../platform.ts";
import type { Deliverable, Outcome, OwedDelivery } from "./delivery.ts";
import { createReportLink } from "./link.ts";
import type { DeliveryOptions } from "./options.ts";

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
