import type { z } from "zod";
import {
  CHANNELS,
  NOTIFICATION_PRIORITIES,
  type RecipientStatus,
  type SkipReason,
  STATUSES,
} from "../../../domain/notifications/status.ts";
import type { NotificationDetailDto, NotificationSummaryDto } from "../../notifications/shapes.ts";
import type { Choice } from "../components/forms.tsx";
import type { Tone } from "../components/notice.tsx";
import { Badge } from "../components/values.tsx";
import { defineTexts, type Locale } from "../shared/languages.ts";

export type Summary = z.output<typeof NotificationSummaryDto>;
export type Detail = z.output<typeof NotificationDetailDto>;
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
  Pending: "Collected",
  Queued: "Queued",
  Sending: "Sending",
  Sent: "Sent",
  Failed: "Failed",
  DeadLettered: "Dead-lettered",
  Scheduled: "Scheduled",
  Cancelled: "Cancelled",
}, {
  Pending: "Em resumo",
  Queued: "Na fila",
  Sending: "A enviar",
  Sent: "Enviada",
  Failed: "Falhou",
  DeadLettered: "Não entregue",
  Scheduled: "Agendada",
  Cancelled: "Cancelada",
});

export const channelLabels = defineTexts(
  { Email: "Email", Push: "Push", InApp: "In-app", Sms: "SMS" },
  { Email: "Email", Push: "Push", InApp: "Na aplicação", Sms: "SMS" },
);

export const notificationPriorityLabels = defineTexts(
  { Low: "Low", Normal: "Normal", High: "High", Critical: "Critical" },
  { Low: "Baixa", Normal: "Normal", High: "Alta", Critical: "Crítica" },
);

/** What a recipient's line says; those still owed when no attempt comes by itself any more are not delivered. */
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
  Owed: "Not yet",
  Sent: "Sent",
  Refused: "Refused",
  Skipped: "Skipped",
  Collected: "In a digest",
  NotDelivered: "Not delivered",
}, {
  Owed: "Ainda não",
  Sent: "Enviada",
  Refused: "Recusada",
  Skipped: "Omitida",
  Collected: "Num resumo",
  NotDelivered: "Não entregue",
});

/** Why somebody was left out, as a sentence. */
export const skipReasonLabels: Record<Locale, Record<SkipReason, string>> = defineTexts({
  OptedOut: "Does not want this category on this channel",
  Suppressed: "The address is suppressed",
  NoAddress: "Has no address on this channel",
  NotAUser: "Is no user of this tenant any more",
}, {
  OptedOut: "Não quer esta categoria neste canal",
  Suppressed: "O endereço está suprimido",
  NoAddress: "Não tem endereço neste canal",
  NotAUser: "Já não é utilizador deste inquilino",
});

/** A message's status in colour and words. */
export const StatusBadge = ({ locale, status }: { locale: Locale; status: Status }) => (
  <Badge tone={TONES[status]}>{notificationStatusLabels[locale][status]}</Badge>
);

/** What became of one recipient of a message, in colour and words. */
export function RecipientBadge(
  { locale, message, status }: { locale: Locale; message: Pick<Summary, "status">; status: RecipientStatus },
) {
  const isOver = message.status === "DeadLettered" || message.status === "Cancelled";
  const outcome = status === "Owed" && isOver ? "NotDelivered" : status;
  return <Badge tone={RECIPIENT_TONES[outcome]}>{recipientOutcomeLabels[locale][outcome]}</Badge>;
}

export const channelChoices = (locale: Locale): Choice[] =>
  CHANNELS.map((value) => ({ value, label: channelLabels[locale][value] }));
export const statusChoices = (locale: Locale): Choice[] =>
  STATUSES.map((value) => ({ value, label: notificationStatusLabels[locale][value] }));
export const priorityChoices = (locale: Locale): Choice[] =>
  NOTIFICATION_PRIORITIES.map((value) => ({ value, label: notificationPriorityLabels[locale][value] }));

/** May be sent again. */
export const isRetriable = ({ status }: Pick<Summary, "status">): boolean =>
  status === "Failed" || status === "DeadLettered";
/** May still be called off. */
export const isCancellable = ({ status }: Pick<Summary, "status">): boolean => status === "Scheduled";
