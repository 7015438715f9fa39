import { channelDisplay, channelNames, isBuiltIn } from "../../../domain/notifications/channels/catalogue.ts";
import {
  DELIVERY_STATES,
  type DeliveryState,
  NOTIFICATION_PRIORITIES,
  type NotificationChannel,
  type RecipientStatus,
  type SkipReason,
  STATUSES,
} from "../../../domain/notifications/status.ts";
import type { Choice } from "../components/forms.tsx";
import type { Tone } from "../components/notice.tsx";
import { Badge } from "../components/values.tsx";
import { defineTexts, type Locale } from "../shared/languages.ts";
import type { Answer, Row } from "../shared/operations.ts";

export type Summary = Row<"listNotifications">;
export type Detail = Answer<"readNotification">;
type Status = Summary["status"];

const TONES: Record<Status, Tone> = {
  Pending: "idle",
  Queued: "info",
  Sending: "info",
  Sent: "ok",
  Failed: "warn",
  DeadLettered: "bad",
  Scheduled: "idle",
  Cancelled: "idle",
};

export const notificationStatusLabels = defineTexts({
  Pending: "In digest",
  Queued: "Queued",
  Sending: "Sending",
  Sent: "Sent",
  Failed: "Failed",
  DeadLettered: "Dead-lettered",
  Scheduled: "Scheduled",
  Cancelled: "Cancelled",
}, {
  Pending: "No resumo",
  Queued: "Na fila",
  Sending: "Enviando",
  Sent: "Enviada",
  Failed: "Falhou",
  DeadLettered: "Não entregue",
  Scheduled: "Agendada",
  Cancelled: "Cancelada",
});

export const channelLabels = defineTexts(
  { Email: "Email", Push: "Push", InApp: "In-app", Sms: "SMS" },
  { Email: "E-mail", Push: "Push", InApp: "No aplicativo", Sms: "SMS" },
);

/** The label of a channel; for one of an extension, its display name. */
export const channelLabel = (locale: Locale, channel: NotificationChannel): string =>
  isBuiltIn(channel) ? channelLabels[locale][channel] : channelDisplay(channel);

export const notificationPriorityLabels = defineTexts(
  { Low: "Low", Normal: "Normal", High: "High", Critical: "Critical" },
  { Low: "Baixa", Normal: "Normal", High: "Alta", Critical: "Crítica" },
);

/** Delivery status of one recipient. A recipient still owed when the message has ended counts as NotDelivered. */
type RecipientOutcome = RecipientStatus | "NotDelivered";

const RECIPIENT_TONES: Record<RecipientOutcome, Tone> = {
  Owed: "info",
  Sent: "ok",
  Refused: "bad",
  Skipped: "idle",
  Collected: "idle",
  NotDelivered: "bad",
};

const recipientOutcomeLabels = defineTexts({
  Owed: "Pending",
  Sent: "Sent",
  Refused: "Refused",
  Skipped: "Skipped",
  Collected: "In digest",
  NotDelivered: "Not delivered",
}, {
  Owed: "Pendente",
  Sent: "Enviada",
  Refused: "Recusada",
  Skipped: "Omitida",
  Collected: "No resumo",
  NotDelivered: "Não entregue",
});

const DELIVERY_TONES: Record<DeliveryState, Tone> = { Delivered: "ok", Bounced: "bad", Complained: "bad" };

const deliveryStateLabels = defineTexts(
  { Delivered: "Delivered", Bounced: "Bounced", Complained: "Complaint" },
  { Delivered: "Entregue", Bounced: "Devolvida", Complained: "Queixa" },
);

/** What the provider reported after it had accepted the message, as a coloured label; nothing without a report. */
export const DeliveryBadge = ({ locale, state }: { locale: Locale; state: DeliveryState | null }) =>
  state && <Badge tone={DELIVERY_TONES[state]}>{deliveryStateLabels[locale][state]}</Badge>;

export const deliveryChoices = (locale: Locale): Choice[] =>
  DELIVERY_STATES.map((value) => ({ value, label: deliveryStateLabels[locale][value] }));

/** Why a recipient was skipped. */
export const skipReasonLabels: Record<Locale, Record<SkipReason, string>> = defineTexts({
  OptedOut: "The user has turned off this category on this channel",
  Suppressed: "The address is suppressed",
  NoAddress: "The user has no address on this channel",
  NotAUser: "The user no longer belongs to this tenant",
}, {
  OptedOut: "O usuário desativou esta categoria neste canal",
  Suppressed: "O endereço está suprimido",
  NoAddress: "O usuário não tem endereço neste canal",
  NotAUser: "O usuário já não pertence a este inquilino",
});

/** A message's status as a coloured label. */
export const StatusBadge = ({ locale, status }: { locale: Locale; status: Status }) => (
  <Badge tone={TONES[status]}>{notificationStatusLabels[locale][status]}</Badge>
);

/** The delivery status of one recipient as a coloured label. */
export function RecipientBadge(
  { locale, message, status }: { locale: Locale; message: Pick<Summary, "status">; status: RecipientStatus },
) {
  const isOver = message.status === "DeadLettered" || message.status === "Cancelled";
  const outcome = status === "Owed" && isOver ? "NotDelivered" : status;
  return <Badge tone={RECIPIENT_TONES[outcome]}>{recipientOutcomeLabels[locale][outcome]}</Badge>;
}

export const channelChoices = (locale: Locale): Choice[] =>
  channelNames.map((value) => ({ value, label: channelLabel(locale, value) }));
export const statusChoices = (locale: Locale): Choice[] =>
  STATUSES.map((value) => ({ value, label: notificationStatusLabels[locale][value] }));
export const priorityChoices = (locale: Locale): Choice[] =>
  NOTIFICATION_PRIORITIES.map((value) => ({ value, label: notificationPriorityLabels[locale][value] }));

/** Whether the message can be sent again. A list does not know whether the content has expired. */
export const isRetriable = (
  { status, bodyExpired }: Pick<Summary, "status"> & { bodyExpired?: boolean },
): boolean => (status === "Failed" || status === "DeadLettered") && !bodyExpired;
/** Whether the message can still be cancelled. */
export const isCancellable = ({ status }: Pick<Summary, "status">): boolean => status === "Scheduled";
