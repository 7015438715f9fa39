import { channelDisplay, channelNames, isBuiltIn } from "../../../domain/notifications/channels.ts";
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
  Pending: ["In digest", "No resumo"],
  Queued: ["Queued", "Na fila"],
  Sending: ["Sending", "Enviando"],
  Sent: ["Sent", "Enviada"],
  Failed: ["Failed", "Falhou"],
  DeadLettered: ["Dead-lettered", "Não entregue"],
  Scheduled: ["Scheduled", "Agendada"],
  Cancelled: ["Cancelled", "Cancelada"],
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

export const notificationPriorityLabels = defineTexts({
  Low: ["Low", "Baixa"],
  Normal: ["Normal", "Normal"],
  High: ["High", "Alta"],
  Critical: ["Critical", "Crítica"],
});

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
  Owed: ["Pending", "Pendente"],
  Sent: ["Sent", "Enviada"],
  Refused: ["Refused", "Recusada"],
  Skipped: ["Skipped", "Omitida"],
  Collected: ["In digest", "No resumo"],
  NotDelivered: ["Not delivered", "Não entregue"],
});

const DELIVERY_TONES: Record<DeliveryState, Tone> = { Delivered: "ok", Bounced: "bad", Complained: "bad" };

const deliveryStateLabels = defineTexts({
  Delivered: ["Delivered", "Entregue"],
  Bounced: ["Bounced", "Devolvida"],
  Complained: ["Complaint", "Queixa"],
});

/** The provider's report about an accepted message, as a coloured label; nothing without a report. */
export const DeliveryBadge = ({ locale, state }: { locale: Locale; state: DeliveryState | null }) =>
  state && <Badge tone={DELIVERY_TONES[state]}>{deliveryStateLabels[locale][state]}</Badge>;

export const deliveryChoices = (locale: Locale): Choice[] =>
  DELIVERY_STATES.map((value) => ({ value, label: deliveryStateLabels[locale][value] }));

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

/** True if the message can be sent again. The rows of a list do not contain whether the content has expired. */
export const isRetriable = (
  { status, bodyExpired }: Pick<Summary, "status"> & { bodyExpired?: boolean },
): boolean => (status === "Failed" || status === "DeadLettered") && !bodyExpired;
/** True if the message can still be cancelled. */
export const isCancellable = ({ status }: Pick<Summary, "status">): boolean => status === "Scheduled";
