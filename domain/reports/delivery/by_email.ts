import { transact } from "../../../infra/postgres/postgres.ts";
import { signFileDownload } from "../../files/service_files.ts";
import { readNotificationStatus, sendNotification } from "../../notifications/send.ts";
import { Problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Execution } from "../execution.ts";
import type { Outcome, OwedDelivery } from "./delivery.ts";
import type { DeliveryOptions } from "./options.ts";

/** A larger document is linked to: mail servers refuse it. */
export const LARGEST_ATTACHMENT_BYTES = 10 * 1024 * 1024;
const LINK_SECONDS = 24 * 60 * 60;

type Deliverable = Execution & { storedFileId: string };

/**
 * Sends one recipient their own message, once: the message's id is kept in the transaction that creates it. Delivered
 * when the provider has taken it.
 */
export async function deliverByEmail(
  p: Platform,
  execution: Deliverable,
  delivery: OwedDelivery,
): Promise<Outcome> {
  if (delivery.notificationId) return await outcomeOf(p, delivery.notificationId);
  const data = await templateData(p, execution);
  const attach = data.downloadUrl === undefined;
  const { emailSubject }: DeliveryOptions = JSON.parse(execution.deliveryJson ?? "{}");
  const { id, tenantId, createdBy, traceId, storedFileId } = execution;
  try {
    const earlier = await transact(p.sql, async (tx): Promise<string | null> => {
      // Two jobs may deliver at the same time, one of them on its way out: whoever has the row first sends.
      const [owed] = await tx<{ notificationId: string | null }[]>`
        select notification_id from report_deliveries where id = ${delivery.id} and status = 'Owed' for update`;
      if (!owed || owed.notificationId) return owed?.notificationId ?? null;
      const { notificationId } = await sendNotification(p, tx, { tenantId, userId: createdBy, traceId }, {
        channel: "Email",
        recipients: [{ address: delivery.recipient }],
        templateSlug: "report-ready",
        templateData: data,
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
  return { status: "Owed", reason: "the message is on its way" };
}

async function templateData(p: Platform, execution: Deliverable): Promise<Record<string, unknown>> {
  const { emailBody }: DeliveryOptions = JSON.parse(execution.deliveryJson ?? "{}");
  const data = { reportName: execution.reportName, ...(emailBody ? { message: emailBody } : {}) };
  if ((execution.fileSizeBytes ?? 0) <= LARGEST_ATTACHMENT_BYTES) return data;
  const { url, expiresAt } = await signFileDownload(p, execution.storedFileId, {
    expiresInSeconds: LINK_SECONDS,
  });
  return {
    ...data,
    downloadUrl: url,
    expiresAt: `${expiresAt.toISOString().slice(0, 16).replace("T", " ")} UTC`,
  };
}

async function outcomeOf(p: Platform, notificationId: string): Promise<Outcome> {
  const message = await readNotificationStatus(p.sql, notificationId);
  if (!message) return { status: "Failed", reason: "The message is gone." };
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
