import { channelDisplay, channelNames, isBuiltIn } from "../../../domain/notifications/channels.ts";
import {
  type DeliveryState,
  NOTIFICATION_PRIORITIES,
  type NotificationChannel,
  type RecipientStatus,
  type SkipReason,
} from "../../../domain/notifications/status.ts";
import { deliveryJob } from "../../../domain/notifications/delivery/deliver.ts";
import type { Choice } from "../components/forms.tsx";
import { holding } from "../jobs/pauses.tsx";
import { priorityLabels } from "../shared/labels.ts";
import { defineTexts, type Locale } from "../shared/languages.ts";
import type { Answer, Row } from "../shared/operations.ts";
import type { Visit } from "../shared/page.ts";
import { defineStates } from "../components/states.tsx";

export type Summary = Row<"listNotifications">;
export type Detail = Answer<"readNotification">;
type Status = Summary["status"];

/** True for a pause of the jobs that deliver messages, which wait meanwhile. */
export const holdsSending = holding({ queue: "default", jobTypeName: deliveryJob.name });

export const messageStates = defineStates<Status>({
  Pending: ["idle", "In digest", "No resumo"],
  Queued: ["info", "Queued", "Na fila"],
  Sending: ["info", "Sending", "Enviando"],
  Sent: ["ok", "Sent", "Enviada"],
  Failed: ["warn", "Failed", "Falhou"],
  DeadLettered: ["bad", "Dead-lettered", "Não entregue"],
  Scheduled: ["idle", "Scheduled", "Agendada"],
  Cancelled: ["idle", "Cancelled", "Cancelada"],
});

export const channelLabels = defineTexts({
  Email: ["Email", "E-mail"],
  Push: ["Push", "Push"],
  InApp: ["In-app", "No aplicativo"],
  Sms: ["SMS", "SMS"],
});

/** The label of a channel; for one of an extension, its display name. */
export const channelLabel = (locale: Locale, channel: NotificationChannel): string =>
  isBuiltIn(channel) ? channelLabels[locale][channel] : channelDisplay(channel);

/** Delivery status of one recipient. A recipient still owed when the message has ended counts as NotDelivered. */
type RecipientOutcome = RecipientStatus | "NotDelivered";

const recipientStates = defineStates<RecipientOutcome>({
  Owed: ["info", "Pending", "Pendente"],
  Sent: ["ok", "Sent", "Enviada"],
  Refused: ["bad", "Refused", "Recusada"],
  Skipped: ["idle", "Skipped", "Omitida"],
  Collected: ["idle", "In digest", "No resumo"],
  NotDelivered: ["bad", "Not delivered", "Não entregue"],
});

/** The report of the provider about an accepted message. */
export const deliveryStates = defineStates<DeliveryState>({
  Delivered: ["ok", "Delivered", "Entregue"],
  Bounced: ["bad", "Bounced", "Devolvida"],
  Complained: ["bad", "Complaint", "Queixa"],
});

/** The reason why a recipient was skipped. */
export const skipReasonLabels: Record<Locale, Record<SkipReason, string>> = defineTexts({
  OptedOut: [
    "The user has turned off this category on this channel",
    "O usuário desativou esta categoria neste canal",
  ],
  Suppressed: ["The address is suppressed", "O endereço está suprimido"],
  NoAddress: ["The user has no address on this channel", "O usuário não tem endereço neste canal"],
  NotAUser: ["The user no longer belongs to this tenant", "O usuário já não pertence a este inquilino"],
});

/** The delivery status of one recipient as a coloured label. */
export function recipientBadge(v: Visit, message: Pick<Summary, "status">, status: RecipientStatus) {
  const isOver = message.status === "DeadLettered" || message.status === "Cancelled";
  return recipientStates.badge(v, status === "Owed" && isOver ? "NotDelivered" : status);
}

export const channelChoices = (locale: Locale): Choice[] =>
  channelNames.map((value) => ({ value, label: channelLabel(locale, value) }));
export const priorityChoices = (locale: Locale): Choice[] =>
  NOTIFICATION_PRIORITIES.map((value) => ({ value, label: priorityLabels[locale][value] }));

/** True if the message can be sent again. The rows of a list do not contain whether the content has expired. */
export const isRetriable = (
  { status, bodyExpired }: Pick<Summary, "status"> & { bodyExpired?: boolean },
): boolean => (status === "Failed" || status === "DeadLettered") && !bodyExpired;
/** True if the message can still be cancelled. */
export const isCancellable = ({ status }: Pick<Summary, "status">): boolean => status === "Scheduled";
